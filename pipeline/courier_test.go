package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// bot is a sink that can edit and look, with a credential of its own.
type bot struct {
	sink
	edits  []string
	looked []time.Time
	page   func(n int, q notifier.Query) (notifier.Page, error) // nil = it finds nothing
	refuse func() error                                         // of edits; nil = all is well
}

func (b *bot) Workspace() string { return "ws" }

func (b *bot) Findable() bool { return true }

func (b *bot) Edit(_ context.Context, at notifier.Receipt, m notifier.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		if err := b.refuse(); err != nil {
			return err
		}
	}
	b.edits = append(b.edits, at.TS+" "+m.Text)
	return nil
}

func (b *bot) Find(_ context.Context, q notifier.Query) (notifier.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked = append(b.looked, time.Now())
	if b.page == nil {
		return notifier.Page{}, nil
	}
	return b.page(len(b.looked)-1, q)
}

// inDoubt is an attempt of which nobody knows whether it arrived.
func inDoubt(attempts ...int) func(n int) error {
	return func(n int) error {
		if slices.Contains(attempts, n) {
			return &notifier.Error{Action: notifier.Retry, Reason: notifier.TimedOut, Doubt: true, Answer: "no answer"}
		}
		return nil
	}
}

func TestItIsLookedUpTwiceBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: inDoubt(0)}}
		b := setup(nil, channel("a", to))
		begin := time.Now()
		b.take(t, "a", 2)
		b.run(t, time.Minute)
		require.Equal(t, []string{"🔵 *t0*", "🔵 *t1*"}, to.sent)
		require.Len(t, to.looked, 2)
		require.WithinRange(t, to.looked[0], begin.Add(10*time.Second), begin.Add(11*time.Second))
		require.WithinRange(t, to.looked[1], begin.Add(30*time.Second), begin.Add(31*time.Second))
		require.WithinRange(t, to.at[1], begin.Add(30*time.Second), begin.Add(31*time.Second))
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.ledger(t, "a"))
	})
}

func TestWhatIsFoundIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: inDoubt(0)}}
		var asked notifier.Query
		to.page = func(n int, q notifier.Query) (notifier.Page, error) {
			if asked = q; n < 3 {
				return notifier.Page{Cursor: fmt.Sprint(n)}, nil
			}
			return notifier.Page{Found: true, At: notifier.Receipt{Channel: "C1", TS: "7.000001"}}, nil
		}
		begin := time.Now()
		b := setup(nil, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.at, 1)
		require.Len(t, to.looked, 4, "page by page")
		require.Equal(t, "2", asked.Cursor)
		require.WithinDuration(t, begin, asked.Since, time.Second, "from the first attempt on")
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.ledger(t, "a"))
	})
}

// A lookup that fails is tried again; one that is refused leaves the choice to the severity.
func TestLookupsThatFail(t *testing.T) {
	t.Parallel()
	for drop, want := range map[bool]store.Ledger{
		false: {Received: 1, Admitted: 1, Delivered: 1}, true: {Received: 1, Admitted: 1, Failed: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			to := &bot{sink: sink{answer: inDoubt(0)}}
			to.page = func(n int, _ notifier.Query) (notifier.Page, error) {
				switch n {
				case 0:
					return notifier.Page{}, &notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 5 * time.Second}
				case 1:
					return notifier.Page{}, &notifier.Error{Action: notifier.Retry, Reason: notifier.SlackUnavailable}
				default:
					return notifier.Page{}, &notifier.Error{Action: notifier.StopToken, Reason: "missing_scope"}
				}
			}
			ch := channel("a", to)
			ch.DropUnknown = map[events.Severity]bool{events.Info: drop}
			b := setup(nil, ch)
			b.take(t, "a", 1)
			b.run(t, time.Minute)
			require.Len(t, to.looked, 3)
			require.Equal(t, want, b.ledger(t, "a"))
			require.Contains(t, b.log.String(), "channels:history")
		})
	}
}

// A digest that may have been posted obeys on_unknown, by the severities that it counts: two of them add up to double.
func TestADigestInDoubt(t *testing.T) {
	t.Parallel()
	info, all := map[events.Severity]bool{events.Info: true}, map[events.Severity]bool{events.Info: true, events.Error: true}
	for says, c := range map[string]struct {
		drop map[events.Severity]bool
		sent int
	}{"retry": {nil, 2}, "drop": {all, 1}, "drop, and not the worst of it": {info, 2}} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{answer: inDoubt(0)}
				var box store.Outbox
				ch := channel("a", to)
				ch.DropUnknown = c.drop
				where := store.Channel{Group: "a", Name: "a"}
				b := setup(func(data *memory.Data) store.Outbox {
					box = memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
					require.NoError(t, box.Append(t.Context(), where, "1", store.KindDigest, []byte(`{"id":"a:1","counts":{"d:disk:info":2,"x:disk:error":1,"t:full":3}}`)))
					return box
				}, ch)
				b.run(t, time.Minute)
				require.Len(t, to.at, c.sent)
				letters, err := box.DeadLetters(t.Context(), where, "", 10)
				require.NoError(t, err)
				if c.sent == 2 {
					require.Empty(t, letters)
					return
				}
				require.Len(t, letters, 1)
				require.Equal(t, []string{store.KindDigest, string(notifier.UnknownFate)}, []string{letters[0].Kind, letters[0].Reason})
			})
		})
	}
}

// stalled carries claims out and answers them too late, as a Redis that stood still does.
type stalled struct {
	store.Outbox
	answers int // how many claims that may send get no answer, still
}

func (s *stalled) Claim(ctx context.Context, ch store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	if s.answers == 0 || look {
		return s.Outbox.Claim(ctx, ch, terms, look)
	}
	s.answers--
	return s.Outbox.Claim(&late{Context: ctx}, ch, terms, look)
}

// late is a context that ends while its call is carried out.
type late struct {
	context.Context
	asked bool
}

func (l *late) Err() error {
	if !l.asked {
		l.asked = true
		return nil
	}
	return context.DeadlineExceeded
}

// What a claim without an answer took was not sent: it is neither looked up nor dropped, and nothing stands still.
func TestAClaimWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for says, lookable := range map[string]bool{"by a bot": true, "by a webhook": false} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{}
				ch := channel("a", to)
				ch.DropUnknown = map[events.Severity]bool{events.Info: true}
				if !lookable {
					ch.Sender = &to.sink
				}
				b := setup(func(data *memory.Data) store.Outbox {
					return &stalled{Outbox: memory.New(data, memory.Options{Options: store.Options{Owner: "me"}}), answers: 3}
				}, ch)
				begin := time.Now()
				b.take(t, "a", 2)
				b.run(t, time.Minute)
				require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.ledger(t, "a"))
				require.Len(t, to.at, 2)
				require.WithinRange(t, to.at[1], begin, begin.Add(2*time.Second))
				require.Empty(t, to.looked)
			})
		})
	}
}

// reused answers records of messages that were admitted later than what asks for them: their numbers were given again.
type reused struct{ store.Outbox }

func (r reused) PostedMessage(ctx context.Context, ch store.Channel, number int64) (*store.PostedMessage, error) {
	record, err := r.Outbox.PostedMessage(ctx, ch, number)
	if record != nil {
		record.At += time.Hour.Microseconds()
	}
	return record, err
}

// Redis went back between a claim and the look at the message that the entry belongs to: another has its number now.
func TestAMessageWhoseNumberWasGivenAgain(t *testing.T) {
	t.Parallel()
	for says, again := range map[string]bool{"the same": false, "another": true} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to, ch := &bot{}, channel("a", nil)
				ch.Sender, ch.Handling = to, &store.MessagePolicy{Overflow: "drop", Resolves: "reply"}
				var box store.Outbox
				b := setup(func(data *memory.Data) store.Outbox {
					box = memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
					if again {
						return reused{box}
					}
					return box
				}, ch)
				alert := events.Event{ID: "1", Source: "x", Category: "c", Severity: events.Error, Status: events.Firing, Fingerprint: "f", Title: "broken"}
				for _, status := range []events.Status{events.Firing, events.Resolved} {
					alert.Status, alert.ID = status, string(status)
					_, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
					require.NoError(t, err)
					b.run(t, 5*time.Second)
				}
				require.Len(t, to.sent, 2)
				require.Equal(t, again, to.thread[1] == "", to.thread)
				edit := fmt.Appendf(nil, `{"id":"a:1","post":"1","counts":{"d:c:info":1}}`)
				require.NoError(t, box.Append(t.Context(), store.Channel{Group: "a", Name: "a"}, "1", store.KindDigestEdit, edit))
				b.run(t, 5*time.Second)
				require.Empty(t, to.edits, "a message is no digest")
			})
		})
	}
}

// Whatever a lookup answers, the message does not wait for ever.
func TestLookupsThatNeverSucceed(t *testing.T) {
	t.Parallel()
	for says, failure := range map[string]*notifier.Error{
		"a Slack that knows no such method": {Action: notifier.Retry, OwnFault: true, Reason: notifier.UnknownAnswer},
		"a channel that the bot is not in":  {Action: notifier.GiveUp, Reason: "not_in_channel"},
		"a history that is always down":     {Action: notifier.Retry, Reason: notifier.SlackUnavailable},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{sink: sink{answer: inDoubt(0)}}
				to.page = func(int, notifier.Query) (notifier.Page, error) { return notifier.Page{}, failure }
				b := setup(nil, channel("a", to))
				b.take(t, "a", 2)
				b.run(t, 30*time.Minute)
				require.Len(t, to.sent, 2)
			})
		})
	}
}

// A token that is refused while a message is looked up stops the channel, and the message is looked up when it is mended.
func TestATokenThatIsRefusedInALookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: inDoubt(0)}}
		to.page = func(n int, _ notifier.Query) (notifier.Page, error) {
			if n == 0 {
				return notifier.Page{}, &notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}
			}
			return notifier.Page{Found: true, At: notifier.Receipt{TS: "1.000001"}}, nil
		}
		b := setup(nil, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, 5*time.Minute)
		require.Len(t, to.looked, 2)
		require.InDelta(t, time.Minute, to.looked[1].Sub(to.looked[0]), float64(2*time.Second))
		require.Len(t, to.at, 1, "it is not sent again")
	})
}

// All channels of a credential share its budget.
func TestTheWorkspacesBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, other := &bot{}, &bot{}
		b := setup(nil, channel("a", one), channel("b", other))
		box := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
		b.courier = pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: box, Budget: box, PostsPerMinute: 60, Channels: []pipeline.Channel{channel("a", one), channel("b", other)},
			Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
		})
		b.take(t, "a", 60)
		b.take(t, "b", 60)
		b.run(t, 30*time.Second)
		require.InDelta(t, 30+30, len(one.sent)+len(other.sent), 3, "half of a minute's at once, then one a second")
		b.run(t, 2*time.Minute)
		require.Equal(t, 120, len(one.sent)+len(other.sent))
	})
}

// What Slack refuses for how it is laid out is said once more as plain text, then given up.
func TestRefusedLayouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(n int) error {
			if n == 0 || n == 2 || n == 3 {
				return &notifier.Error{Action: notifier.Degrade, Reason: "invalid_blocks"}
			}
			return nil
		}}
		b := setup(nil, channel("a", to))
		b.take(t, "a", 2)
		b.run(t, time.Minute)
		require.Len(t, to.at, 4)
		require.Len(t, to.sent, 1)
		require.True(t, strings.HasPrefix(to.sent[0], "🔵 *t0*\ninfo"), to.sent[0])
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, b.ledger(t, "a"))
	})
}

// An edit that Slack refuses for good is posted where it must be told.
func TestRefusedEdits(t *testing.T) {
	t.Parallel()
	for reason, thread := range map[notifier.Reason]string{"edit_window_closed": "1.000001", "message_not_found": ""} {
		synctest.Test(t, func(t *testing.T) {
			to := &bot{}
			to.refuse = func() error { return &notifier.Error{Action: notifier.Repost, Reason: reason} }
			ch := channel("a", to)
			ch.Handling = &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
			b := setup(nil, ch)
			alert := events.Event{ID: "1", Source: "x", Category: "c", Severity: events.Error, Status: events.Firing, Fingerprint: "f", Title: "broken"}
			receipt, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
			require.NoError(t, err)
			require.Equal(t, 1, receipt.Admitted)
			b.run(t, 5*time.Second)
			alert.ID, alert.Status = "2", events.Resolved
			receipt, err = b.intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
			require.NoError(t, err)
			require.Equal(t, 1, receipt.Merged)
			b.run(t, 5*time.Second)
			require.Len(t, to.sent, 2)
			require.Contains(t, to.sent[1], "Resolved: broken")
			require.Equal(t, thread, to.thread[1])
			require.Equal(t, store.Ledger{Received: 2, Admitted: 1, Merged: 1, Delivered: 1}, b.ledger(t, "a"))
		})
	}
}

// The operators are told once an hour, however often it happens.
func TestNoticesComeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(int) error { return &notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"} }}
		told := &sink{}
		b := setup(nil, channel("a", to))
		b.courier = pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}}), Channels: []pipeline.Channel{channel("a", to)}, Operations: told,
			Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
		})
		b.take(t, "a", 5)
		b.run(t, 30*time.Second)
		require.Len(t, to.at, 5)
		require.Len(t, told.sent, 1)
		require.Contains(t, told.sent[0], "channel a: Slack refuses messages for good (is_archived)")
	})
}

// The operators are told of what keeps a channel waiting, and not of what Slack asks for now and then.
func TestNoticesOfWaiting(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]struct {
		failure notifier.Error
		told    int
	}{
		"a short wait":       {notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 30 * time.Second}, 0},
		"a long wait":        {notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 10 * time.Minute}, 1},
		"a Slack that fails": {notifier.Error{Action: notifier.Retry, Reason: notifier.SlackUnavailable}, 1},
		"a refused token":    {notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}, 1},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				told := &sink{}
				to := &sink{answer: func(n int) error {
					if n > 8 || says == "a short wait" && n > 0 {
						return nil
					}
					return &c.failure
				}}
				b := setup(nil, channel("a", to))
				b.courier = pipeline.NewCourier(pipeline.CourierOptions{
					Outbox: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}}), Channels: []pipeline.Channel{channel("a", to)}, Operations: told,
					Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
				})
				b.take(t, "a", 1)
				b.run(t, 20*time.Minute)
				require.Len(t, told.sent, c.told)
			})
		})
	}
}

// A digest that cannot be read, or an edit of nothing, holds nobody up.
func TestExtrasThatMakeNoSense(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		b := setup(func(data *memory.Data) store.Outbox {
			box := memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
			for i, kind := range []string{store.KindEdit, store.KindDigest, store.KindDigestEdit, store.KindNotice, "strange"} {
				for j, payload := range []string{"nonsense", "4711", `{"post":"4711"}`} {
					require.NoError(t, box.Append(t.Context(), store.Channel{Group: "a", Name: "a"}, fmt.Sprint(i, j), kind, []byte(payload)))
				}
			}
			return box
		}, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, time.Minute)
		require.Contains(t, to.sent, "🔵 *t0*")
		claim, err := memory.New(b.store, memory.Options{Options: store.Options{Owner: "you"}}).Claim(t.Context(), store.Channel{Group: "a", Name: "a"},
			store.Terms{Pace: store.Pace{Burst: 1}}, false)
		require.NoError(t, err)
		require.Equal(t, store.Empty, claim.State, "nothing is left")
	})
}
