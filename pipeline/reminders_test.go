package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// reminding are replicas of a relay that reminds people, with one store.
type reminding struct {
	*following

	replicas []*remindingReplica
}

type remindingReplica struct {
	intake  *pipeline.Intake
	courier *pipeline.Courier
	stop    func()
}

// remind starts replicas in a synctest bubble.
func remind(t *testing.T, replicas int, silences pipeline.Silencer, ch pipeline.Channel) *reminding {
	t.Helper()
	r := &reminding{following: &following{t: t, bundle: setup(nil, ch)}}
	r.limiter = memory.New(r.store, memory.Options{Options: store.Options{Owner: "reads"}})
	for n := range replicas {
		r.replicas = append(r.replicas, r.startReplica(n, silences, ch))
	}
	r.intake = r.replicas[0].intake
	return r
}

func (r *reminding) startReplica(n int, silences pipeline.Silencer, ch pipeline.Channel) *remindingReplica {
	engine := memory.New(r.store, memory.Options{Options: store.Options{Owner: fmt.Sprint("replica", n)}})
	documented := documents{engine, r.following}
	channels := []pipeline.Channel{ch}
	one := &remindingReplica{}
	one.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: engine, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(name string) { one.courier.Wake(name) }, Problems: documented, Silences: silences, Logger: r.logger(),
		Missed: &r.missed, Outbox: engine,
	})
	work := one.intake.ProblemWork(documented)
	reminders := pipeline.NewReminders(pipeline.ReminderOptions{Intake: one.intake, Store: documented, Outbox: engine})
	work.Handlers[pipeline.ReminderDocuments] = reminders.Wakeup
	one.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: engine, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: r.logger(),
		Problems: work, Reminders: reminders, Promote: one.intake.Promote, Limiter: engine,
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() { one.courier.Run(ctx); close(done) }()
	one.stop = func() { cancel(); <-done }
	return one
}

func (r *reminding) end() {
	for _, one := range r.replicas {
		one.stop()
	}
}

// editing is a channel whose messages are edited, and which reminds after ten minutes.
func editing(to notifier.Sender) pipeline.Channel {
	ch := channel("a", to)
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesEdit, Repeats: true, PostedFor: 72 * time.Hour}
	ch.Remind = pipeline.Remind{Reminders: problem.Reminders{After: 10 * time.Minute}, InThread: true}
	ch.Renderer = notifier.Renderer{ReminderMention: notifier.Mention("S0ONCALL")}
	return ch
}

// posting is a channel for an incoming webhook, which reminds in the channel.
func posting(to notifier.Sender) pipeline.Channel {
	ch := editing(to)
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, PostedFor: 72 * time.Hour}
	ch.Remind.InThread = false
	return ch
}

func TestReminderInAThread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		r := remind(t, 3, nil, editing(to))
		r.send("a", "x", events.Firing)
		r.send("a", "y", events.Firing)
		r.wait(5 * time.Minute)
		r.send("a", "y", events.Resolved)
		r.wait(10 * time.Hour)
		require.Equal(t, []string{
			"🟠 *x firing 1*", "🟠 *y firing 2*", "⏰ Still firing after 10 min: *x firing 1* <!subteam^S0ONCALL>",
		}, to.posted())
		require.Equal(t, []string{"", "", "1.000001"}, to.thread)
		ledger := r.ledger(t, "a")
		require.EqualValues(t, 3, ledger.Received)
		require.EqualValues(t, 2, ledger.Admitted, "a reply uses no slot")
		r.end()
	})
}

func TestReminderInTheChannelPassesTheLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := posting(to)
		ch.Tiers = tiers(ratelimit.Window{Limit: 2, Per: time.Hour}, ratelimit.Window{Limit: 2, Per: time.Hour})
		r := remind(t, 2, nil, ch)
		r.send("a", "x", events.Firing)
		r.wait(time.Minute)
		r.send("a", "y", events.Firing)
		r.wait(55 * time.Minute) // the limit is reached
		require.Len(t, to.posted(), 2)
		r.wait(10 * time.Hour)
		require.Equal(t, []string{
			"🟠 *x firing 1*", "🟠 *y firing 2*", "🟠 *Still firing: x firing 1* <!subteam^S0ONCALL>",
			"🟠 *Still firing: y firing 2* <!subteam^S0ONCALL>",
		}, to.posted())
		require.Contains(t, to.below()[2], "reminder: still firing")
		ledger := r.ledger(t, "a")
		require.EqualValues(t, 4, ledger.Admitted)
		require.Positive(t, ledger.Dropped)
		r.end()
	})
}

func TestNobodyIsRemindedOfAResolveThatNoMessageShows(t *testing.T) {
	t.Parallel()
	muted := silencer(func(e *events.Event) bool { return e.Status == events.Resolved })
	for name, c := range map[string]struct {
		silences pipeline.Silencer
		change   func(ch *pipeline.Channel)
	}{
		"dropped": {nil, func(ch *pipeline.Channel) {
			ch.Tiers = tiers(ratelimit.Window{Limit: 1, Per: 15 * time.Minute}, ratelimit.Window{Limit: 1, Per: 15 * time.Minute})
		}},
		"delayed": {nil, func(ch *pipeline.Channel) {
			ch.Tiers = tiers(ratelimit.Window{Limit: 1, Per: 15 * time.Minute}, ratelimit.Window{Limit: 1, Per: 15 * time.Minute})
			ch.Handling.Overflow, ch.Handling.MaxDelay, ch.Handling.MaxDelayed = store.OverflowDelay, time.Hour, 10
		}},
		"muted": {muted, func(*pipeline.Channel) {}},
		"flapping": {nil, func(ch *pipeline.Channel) {
			ch.Flapping = problem.Flapping{Changes: 1, Within: time.Hour, Stable: time.Hour}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{}
				ch := posting(to)
				c.change(&ch)
				r := remind(t, 1, c.silences, ch)
				r.send("a", "x", events.Firing)
				r.wait(time.Minute)
				r.send("a", "x", events.Resolved)
				r.wait(20 * time.Minute)
				for _, posted := range to.below() {
					require.NotContains(t, posted, "reminder")
				}
				r.end()
			})
		})
	}
}

type silencer func(e *events.Event) bool

func (s silencer) Mutes(e *events.Event) string {
	if s(e) {
		return "s"
	}
	return ""
}

func TestNobodyIsRemindedOfWhatASilenceMutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		var silent atomic.Bool
		silent.Store(true)
		r := remind(t, 1, silencer(func(e *events.Event) bool {
			return silent.Load() && strings.HasPrefix(e.Title, "x") && time.Now().Minute() > 1
		}),
			editing(to))
		r.send("a", "x", events.Firing)
		r.wait(45 * time.Minute)
		require.Len(t, to.posted(), 1)
		silent.Store(false)
		r.wait(time.Hour)
		require.Len(t, to.posted(), 2)
		r.end()
	})
}

func TestGroupIsRemindedWithWhatStillFires(t *testing.T) {
	t.Parallel()
	for _, inThread := range []bool{true, false} {
		t.Run(fmt.Sprint(inThread), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{}
				ch := editing(to)
				ch.Bundle = pipeline.BundleAuto
				ch.Remind.InThread = inThread
				r := remind(t, 2, nil, ch)
				var all []events.Event
				for i := range 20 {
					all = append(all, events.Event{
						ID: fmt.Sprint(i), Source: "generic", Category: "c", Severity: events.Error, Title: fmt.Sprint("alert ", i),
						Fingerprint: fmt.Sprint(i), Status: events.Firing, Group: "g",
					})
				}
				admit := func(all []events.Event) {
					_, err := r.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
					require.NoError(t, err)
				}
				admit(all)
				r.wait(time.Minute)
				for i := range all[:17] {
					all[i].ID += "r"
					all[i].Status = events.Resolved
				}
				admit(all[:17])
				r.wait(time.Hour)
				posted := to.posted()
				require.Len(t, posted, 2, posted)
				if inThread {
					require.Equal(t, "⏰ 3 of 20 alerts are still firing after 10 min <!subteam^S0ONCALL>", posted[1])
				} else {
					require.Equal(t, "🟠 *3 of 20 alerts are still firing* <!subteam^S0ONCALL>", posted[1])
					require.Contains(t, to.below()[1], "3 of 20 alerts are still firing")
				}
				for i := range all[17:] {
					all[17+i].ID += "r"
					all[17+i].Status = events.Resolved
				}
				admit(all[17:])
				r.wait(time.Hour)
				require.Len(t, to.posted(), 2)
				r.end()
			})
		})
	}
}

// located is a bot whose receipts name a channel.
type located struct{ bot }

func (l *located) Send(ctx context.Context, m notifier.Message) (notifier.Receipt, error) {
	receipt, err := l.bot.Send(ctx, m)
	receipt.Channel = "C1"
	return receipt, err
}

func TestNobodyIsRemindedOfAMarkedMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mark  store.MarkChange
		after time.Duration // of the reminder; 0 = there is none
	}{
		"acknowledged":         {store.MarkChange{Kind: store.MarkAcknowledged}, 0},
		"muted for a while":    {store.MarkChange{Kind: store.MarkMuted, For: time.Hour}, 80 * time.Minute},
		"muted until resolved": {store.MarkChange{Kind: store.MarkMuted}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &located{}
				r := remind(t, 2, nil, editing(to))
				began := time.Now()
				r.send("a", "x", events.Firing)
				r.wait(5 * time.Minute)
				c.mark.Message, c.mark.Place, c.mark.Mark.User = 1, store.Receipt{Channel: "C1", TS: "1.000001"}, "U1"
				result, _, err := r.limiter.Mark(t.Context(), store.Channel{Name: "a"}, c.mark)
				require.NoError(t, err)
				require.Equal(t, store.MarkChanged, result)
				r.wait(6 * time.Hour)
				if c.after == 0 {
					require.Len(t, to.posted(), 1)
				} else {
					require.Len(t, to.posted(), 2)
					require.InDelta(t, c.after.Minutes(), to.at[1].Sub(began).Minutes(), 11)
				}
				r.end()
			})
		})
	}
}

func TestAReminderThatWaitsIsNotPostedOnceItsMessageIsMuted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &located{}
		down := false
		to.answer = func(int) error {
			if down {
				return &notifier.Error{Action: notifier.Wait, After: 5 * time.Minute, Reason: notifier.RateLimited}
			}
			return nil
		}
		r := remind(t, 1, nil, editing(to))
		r.send("a", "x", events.Firing)
		r.wait(9 * time.Minute)
		to.mu.Lock()
		down = true
		to.mu.Unlock()
		r.wait(2 * time.Minute) // the reminder waits
		_, _, err := r.limiter.Mark(t.Context(), store.Channel{Name: "a"}, store.MarkChange{
			Kind: store.MarkMuted, Message: 1, Place: store.Receipt{Channel: "C1", TS: "1.000001"}, Mark: store.Mark{User: "U1"},
		})
		require.NoError(t, err)
		to.mu.Lock()
		down = false
		to.mu.Unlock()
		r.wait(time.Hour)
		require.Len(t, to.posted(), 1)
		r.end()
	})
}

// wantedReminders is how often people are reminded of an alert, the first time after 10 minutes, and then every 20. All are minutes,
// and a half.
func wantedReminders(fires, ends, away, back int) (n int) {
	for at := fires + 10; at < ends; at += 20 {
		if at >= away && at < back {
			at = back
		}
		if at < ends {
			n++
		}
	}
	return n
}

// remindersIn counts the reminders among messages, by the alert.
func remindersIn(messages []string) map[string]int {
	said := map[string]int{}
	for _, message := range messages {
		if strings.Contains(message, "till firing") {
			said[message[strings.LastIndex(message, " firing ")-1:][:1]]++
		}
	}
	return said
}

// Alerts fire in the first minutes. Then the store is away for a while, replicas stop and start, and alerts are resolved. The
// resolves at whole minutes and the reminders, half a minute later, never coincide.
func TestRemindersOfRandomHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			to := &bot{}
			ch := editing(to)
			ch.Remind.InThread = seed%2 == 0
			if random.IntN(2) == 0 {
				ch.Remind.Every = 20 * time.Minute
			}
			r := remind(t, 3, nil, ch)
			const alerts, minutes = 8, 60
			fires, ends := [alerts]int{}, [alerts]int{}
			for i := range alerts {
				fires[i] = random.IntN(4)
				ends[i] = fires[i] + 1 + random.IntN(2*minutes)
			}
			away := 5 + random.IntN(minutes)
			back := away + random.IntN(10)
			stopped := random.IntN(minutes)
			for minute := range minutes {
				switch minute {
				case stopped:
					r.replicas[1].stop()
				case stopped + 3:
					r.replicas[1] = r.startReplica(7, nil, ch)
				}
				for i := range alerts {
					if ends[i] == minute {
						r.send("a", string(rune('A'+i)), events.Resolved)
					}
				}
				r.wait(30 * time.Second)
				r.away.Store(minute >= away && minute < back)
				for i := range alerts {
					if fires[i] == minute {
						r.send("a", string(rune('A'+i)), events.Firing)
					}
				}
				r.wait(30 * time.Second)
			}
			r.end()
			said := remindersIn(to.posted())
			for i := range alerts {
				want := wantedReminders(fires[i], min(ends[i], minutes-1), away, back)
				if ch.Remind.Every == 0 {
					want = min(want, 1)
				}
				name := string(rune('A' + i))
				require.Equal(t, want, said[name], "seed %d: %s fires at %d, ends at %d, away %d to %d: %q",
					seed, name, fires[i], ends[i], away, back, to.posted())
			}
		})
	}
}
