package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// silent is an outbox that does not say what is due, and counts its calls.
type silent struct {
	pipeline.CourierOutbox
	due    func(work []store.Work) ([]store.Work, error) // what it says; nil = nothing is due
	broken atomic.Bool                                   // the next question fails
	partly atomic.Bool                                   // all questions fail, because one of several servers is down
	claims atomic.Int64
	asked  atomic.Int64
	all    atomic.Int64 // questions about all channels
	among  atomic.Int64 // channels of the last question
}

func (s *silent) Due(ctx context.Context, among []store.Channel, all bool) ([]store.Work, error) {
	s.asked.Add(1)
	if all {
		s.all.Add(1)
	}
	s.among.Store(int64(len(among)))
	if s.broken.Swap(false) {
		return nil, errors.New("redis is unavailable")
	}
	if s.partly.Load() {
		return nil, fmt.Errorf("%w: a node is down", store.ErrPartial)
	}
	if s.due == nil {
		return nil, nil
	}
	work, err := s.CourierOutbox.Due(ctx, among, all)
	if err != nil {
		return nil, err
	}
	return s.due(work)
}

func (s *silent) Claim(ctx context.Context, ch store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	s.claims.Add(1)
	return s.CourierOutbox.Claim(ctx, ch, terms, look)
}

// courierOf replaces the bundle's courier by one on a silent outbox.
func (b *bundle) courierOf(change func(*pipeline.CourierOptions), channels ...pipeline.Channel) *silent {
	box := &silent{CourierOutbox: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})}
	opts := pipeline.CourierOptions{
		Outbox: box, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
	}
	change(&opts)
	b.courier = pipeline.NewCourier(opts)
	return box
}

func TestIdleChannelsAreClaimedFromRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var channels []pipeline.Channel
		for i := range 100 {
			channels = append(channels, channel(fmt.Sprint(i), &sink{}))
		}
		b := setup(nil, channels...)
		box := b.courierOf(func(*pipeline.CourierOptions) {}, pipeline.WithTestLanes(channels)...)
		b.run(t, 10*time.Second)
		require.InDelta(t, 100, box.claims.Load(), 10, "each channel once, and not its test lane")
		require.InDelta(t, 20, box.asked.Load(), 5)
		box.claims.Store(0)
		b.run(t, 10*time.Minute)
		require.InDelta(t, 100+200, box.claims.Load(), 10, "and in 5 minutes once more")
	})
}

// A replica that dies keeps its channels until its leases end, and they are due then.
func TestAllChannelsAreAskedAboutAgainWhenTheLeasesOfADeadReplicaEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		box := b.courierOf(func(o *pipeline.CourierOptions) { o.Lease = 10 * time.Second }, channel("a", &sink{}))
		time.AfterFunc(5*time.Second, b.courier.Recheck)
		for _, step := range []struct {
			until time.Duration
			want  int64
		}{{4 * time.Second, 1}, {14 * time.Second, 2}, {17 * time.Second, 3}, {time.Minute, 3}} {
			time.AfterFunc(step.until, func() { require.Equal(t, step.want, box.all.Load(), step.until) })
		}
		b.run(t, 2*time.Minute)
	})
}

// What an older version queued, and what the store lost track of, is in no list of due channels.
func TestWorkThatNothingReportsIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		within  time.Duration
		trigger func(b *bundle, box *silent)
	}{
		"in turn":                        {5*time.Minute + time.Second, func(*bundle, *silent) {}},
		"after another replica ended":    {time.Second, func(b *bundle, _ *silent) { b.courier.Recheck() }},
		"after the store did not answer": {2 * time.Second, func(_ *bundle, box *silent) { box.broken.Store(true) }},
		"while another server is down":   {5*time.Minute + time.Second, func(_ *bundle, box *silent) { box.partly.Store(true) }},
		"after another server was down": {2 * time.Second, func(_ *bundle, box *silent) {
			box.partly.Store(true)
			time.AfterFunc(time.Second, func() { box.partly.Store(false) })
		}},
		"after this replica was woken early": {time.Second, func(b *bundle, _ *silent) { b.courier.Wake("a") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{}
				b := setup(nil, channel("a", to))
				box := b.courierOf(func(*pipeline.CourierOptions) {}, channel("a", to))
				b.intake = pipeline.NewIntake(pipeline.IntakeOptions{
					Limiter: memory.New(b.store, memory.Options{}), Channels: []pipeline.Channel{channel("a", to)},
					Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
				})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					b.courier.Run(ctx)
				}()
				time.Sleep(10 * time.Second)
				b.admit(t, "a", 1)
				admitted := time.Now()
				c.trigger(&b, box)
				time.Sleep(c.within)
				cancel()
				<-done
				require.Len(t, to.sent, 1)
				require.WithinRange(t, to.at[0], admitted, admitted.Add(c.within))
			})
		})
	}
}

func TestChannelWokenBeforeTheStartIsDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(nil, channel("a", to))
		b.courierOf(func(o *pipeline.CourierOptions) { o.RecheckEvery = -1 }, channel("a", to))
		b.intake = b.intakeOf(nil, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Second)
		require.Len(t, to.sent, 1)
	})
}

// intakeOf makes an intake that wakes the bundle's courier.
func (b *bundle) intakeOf(outbox pipeline.DelayedQueue, channels ...pipeline.Channel) *pipeline.Intake {
	return pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: memory.New(b.store, memory.Options{}), Channels: channels, Outbox: outbox,
		Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: b.courier.Wake,
	})
}

// Each wake-up comes while an earlier one is being served, at some point of it. Nothing else would find the messages.
func TestEveryAdmissionIsDeliveredByItsWakeUp(t *testing.T) {
	t.Parallel()
	const senders, messages = 8, 50
	channels := make([]pipeline.Channel, 2)
	sinks := make([]*sink, len(channels))
	for i := range channels {
		sinks[i] = &sink{}
		channels[i] = channel(fmt.Sprint(i), sinks[i])
	}
	b := setup(nil, channels...)
	b.courierOf(func(o *pipeline.CourierOptions) { o.RecheckEvery = -1 }, channels...)
	intake := b.intakeOf(nil, channels...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.courier.Run(ctx)
	}()
	for sender := range senders {
		go func() {
			for n := range messages {
				one := events.Event{ID: fmt.Sprint(sender, n), Source: "generic", Category: "c", Title: "x"}
				_, err := intake.Admit(t.Context(), pipeline.Arrival{
					Channel: fmt.Sprint(sender % len(channels)), Sender: "me", Events: []events.Event{one},
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	require.Eventually(t, func() bool {
		delivered := 0
		for _, to := range sinks {
			to.mu.Lock()
			delivered += len(to.sent)
			to.mu.Unlock()
		}
		return delivered == senders*messages
	}, 20*time.Second, 5*time.Millisecond)
	cancel()
	<-done
}

// The credential is paused for a minute: the channel is not asked again and again meanwhile.
func TestChannelThatCannotPostIsNotClaimedFrom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		b := setup(nil, channel("a", to))
		budget := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
		box := b.courierOf(func(o *pipeline.CourierOptions) { o.Budget = budget }, channel("a", to))
		box.due = func(work []store.Work) ([]store.Work, error) { return work, nil }
		b.intake = b.intakeOf(nil, channel("a", to))
		require.NoError(t, budget.PauseCredential(t.Context(), "ws", "token_revoked", time.Minute))
		start := time.Now()
		b.admit(t, "a", 3)
		b.run(t, 50*time.Second)
		require.LessOrEqual(t, box.claims.Load(), int64(3))
		require.Zero(t, box.among.Load(), "a thousand such channels hide no other")
		b.admit(t, "a", 4) // one is new
		b.run(t, 20*time.Second)
		require.Len(t, to.sent, 4)
		require.WithinRange(t, to.at[0], start.Add(time.Minute), start.Add(62*time.Second))
	})
}

// Both look when the channel is due again, and the one that waited does not keep the other from sending.
func TestTwoReplicasKeepALongPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Pace = store.Pace{Every: 5 * time.Second, Burst: 1}
		b := setup(nil, ch)
		other := pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: memory.New(b.store, memory.Options{Options: store.Options{Owner: "you"}}), Channels: []pipeline.Channel{ch},
			Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
		})
		start := time.Now()
		b.admit(t, "a", 6)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		go other.Run(ctx)
		b.courier.Run(ctx)
		require.Len(t, to.sent, 6)
		for i, at := range to.at {
			earliest := start.Add(time.Duration(i) * 5 * time.Second)
			require.WithinRange(t, at, earliest, earliest.Add(time.Duration(i)*500*time.Millisecond+time.Second), i)
		}
	})
}

// A sender that stops delivering to a channel for a while leaves no lease behind.
func TestStopGivesUpTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Pace = store.Pace{Every: time.Second, Burst: 1}
		b := setup(nil, ch)
		b.admit(t, "a", 3)
		b.run(t, 500*time.Millisecond)
		require.Len(t, to.sent, 1)
		other := memory.New(b.store, memory.Options{Options: store.Options{Owner: "you"}})
		claim, err := other.Claim(t.Context(), ch.Scope(), store.Terms{Pace: ch.Pace}, false)
		require.NoError(t, err)
		require.Equal(t, store.Paced, claim.State)
	})
}

// delaying is a channel of two messages a minute.
func delaying(overflow store.OverflowPolicy, to *sink) pipeline.Channel {
	ch := channel("a", to)
	window := ratelimit.Window{Limit: 2, Per: time.Minute}
	ch.Tiers = tiers(window, window)
	ch.Handling = &store.MessagePolicy{Overflow: overflow, MaxDelayed: 10, MaxDelay: time.Hour, Resolves: store.ResolvesPost}
	return ch
}

// configure replaces the bundle's intake and courier by those of a channel, as a reload does.
func (b *bundle) configure(ch pipeline.Channel) *silent {
	var promote func(ctx context.Context, channel string)
	box := b.courierOf(func(o *pipeline.CourierOptions) {
		o.Promote = func(ctx context.Context, channel string) { promote(ctx, channel) }
	}, ch)
	box.due = func(work []store.Work) ([]store.Work, error) { return work, nil }
	b.intake = b.intakeOf(memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}}), ch)
	promote = b.intake.Promote
	return box
}

func TestDelayedMessagesArePromotedAndSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := delaying(store.OverflowDelay, to)
		b := setup(nil, ch)
		b.configure(ch)
		b.admit(t, "a", 4)
		b.run(t, 30*time.Second)
		require.Len(t, to.sent, 2)
		b.run(t, 45*time.Second)
		require.Len(t, to.sent, 4)
	})
}

// A delayed message that cannot be decoded takes its turn and becomes a dead letter: the others go on.
func TestDelayedMessageThatCannotBeDecodedDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := delaying(store.OverflowDelay, to)
		b := setup(nil, ch)
		b.configure(ch)
		b.admit(t, "a", 2)
		limiter := memory.New(b.store, memory.Options{Options: store.Options{Owner: "you"}})
		answer, err := limiter.Admit(t.Context(), ch.Scope(), []store.Request{{
			Request: ratelimit.Request{
				ID: "broken", Category: "broken", Levels: ch.RequestBuilder().Build(&events.Event{Category: "broken"}).Levels,
			},
			Policy:  ch.Handling,
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{")},
		}})
		require.NoError(t, err)
		require.Equal(t, store.Delayed, answer.Decisions[0].Outcome)
		b.admit(t, "a", 4) // two of them again
		b.run(t, 130*time.Second)
		require.Len(t, to.sent, 4)
		letters, err := limiter.DeadLetters(t.Context(), ch.Scope(), "", 5)
		require.NoError(t, err)
		require.Len(t, letters, 1)
		require.Equal(t, "{", string(letters[0].Payload))
		report, err := limiter.Report(t.Context(), ch.Scope())
		require.NoError(t, err)
		require.Zero(t, report.Ledger.Delayed)
		require.Zero(t, report.Ledger.Imbalance())
	})
}

func TestRaisedLimitPromotesDelayedMessagesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := delaying(store.OverflowDelay, to)
		b := setup(nil, ch)
		b.configure(ch)
		b.admit(t, "a", 4)
		b.run(t, 22*time.Second)
		require.Len(t, to.sent, 2)
		ch.Tiers = channel("a", to).Tiers
		b.configure(ch)
		b.run(t, time.Second)
		require.Len(t, to.sent, 4)
	})
}

// A lost index is found too.
func TestDelayedMessagesThatNothingReportsAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := delaying(store.OverflowDelay, to)
		b := setup(nil, ch)
		box := b.configure(ch)
		box.due = nil
		b.admit(t, "a", 4)
		b.run(t, 6*time.Minute)
		require.Len(t, to.sent, 4)
	})
}

// What was delayed before stays delayed at most for as long as configured, and the channel does not stay due.
func TestDelayedMessagesAreDecidedAlthoughTheChannelNoLongerDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(nil, delaying(store.OverflowDelay, to))
		b.configure(delaying(store.OverflowDelay, to))
		b.admit(t, "a", 4)
		b.run(t, time.Second)
		b.configure(delaying(store.OverflowDrop, to))
		b.run(t, 75*time.Second)
		require.Len(t, to.sent, 4)
		require.Empty(t, b.store.DueIndex())
	})
}
