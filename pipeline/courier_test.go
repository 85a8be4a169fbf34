package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestPaceDelaysMessagesAndLosesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Pace = store.Pace{Every: time.Second, Burst: 3}
		b := setup(nil, ch)
		start := time.Now()
		b.admit(t, "a", 10)
		b.run(t, 20*time.Second)
		require.Len(t, to.sent, 10)
		for i, at := range to.at {
			earliest := time.Duration(max(0, i-2)) * time.Second
			require.WithinRange(t, at, start.Add(earliest), start.Add(earliest+300*time.Millisecond), i)
		}
	})
}

func TestRetryAfterPausesItsChannelOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := &sink{answer: func(n int) error {
			if n == 1 {
				return &notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 30 * time.Second}
			}
			return nil
		}}
		free := &sink{}
		b := setup(nil, channel("a", limited), channel("b", free))
		start := time.Now()
		b.admit(t, "a", 3)
		b.admit(t, "b", 3)
		b.run(t, time.Minute)
		require.Equal(t, []string{"🔵 *t0*", "🔵 *t1*", "🔵 *t2*"}, limited.sent, "nothing lost, nothing twice, in order")
		require.WithinRange(t, limited.at[2], start.Add(30*time.Second), start.Add(31*time.Second))
		require.Less(t, free.at[2].Sub(start), time.Second)
	})
}

func TestBackoffGrowsUpToItsBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(n int) error {
			if n < 12 {
				return &notifier.Error{Action: notifier.Retry, Reason: notifier.SlackUnavailable}
			}
			return nil
		}}
		b := setup(nil, channel("a", to))
		b.admit(t, "a", 2)
		b.run(t, time.Hour)
		require.Equal(t, []string{"🔵 *t0*", "🔵 *t1*"}, to.sent)
		require.Greater(t, to.at[4].Sub(to.at[3]), to.at[1].Sub(to.at[0]))
		for i := 1; i < len(to.at); i++ {
			require.LessOrEqual(t, to.at[i].Sub(to.at[i-1]), 2*time.Minute)
		}
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.ledger(t, "a"))
	})
}

func TestRefusedMessagesAreBuriedAndBlockNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure  notifier.Error
		attempts int
	}{
		"refused for good":         {notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"}, 1},
		"maybe itself at fault":    {notifier.Error{Action: notifier.Retry, Reason: notifier.UnknownAnswer, OwnFault: true}, 3},
		"refused as plain text":    {notifier.Error{Action: notifier.Degrade, Reason: "invalid_blocks"}, 2},
		"not an edit to be posted": {notifier.Error{Action: notifier.Repost, Reason: "message_not_found"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{answer: func(n int) error {
					if n < c.attempts {
						return &c.failure
					}
					return nil
				}}
				b := setup(nil, channel("a", to))
				b.admit(t, "a", 2)
				b.run(t, time.Minute)
				require.Equal(t, []string{"🔵 *t1*"}, to.sent)
				require.Len(t, to.at, c.attempts+1)
				require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, b.ledger(t, "a"))
			})
		})
	}
}

func TestChannelOfARefusedCredentialTriesOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fixed := false
		to := &sink{answer: func(int) error {
			if fixed {
				return nil
			}
			return &notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}
		}}
		b := setup(nil, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, 90*time.Second)
		require.Len(t, to.at, 2, "one attempt a minute")
		status, err := b.status.Channel(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "token_revoked", status.State.Reason)
		fixed = true
		b.run(t, 2*time.Minute)
		require.Len(t, to.sent, 1)
	})
}

// A newer version may have queued an entry that this one cannot decode.
func TestUndecodableEntryIsBuriedAndBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		level := store.ChannelLevel(ratelimit.LevelSpec{
			Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{{Limit: 10, Per: time.Minute}},
		}, "a")
		_, err := memory.New(b.store, memory.Options{}).Admit(t.Context(), store.Channel{Group: "a", Name: "a"}, []store.Request{{
			Request: ratelimit.Request{ID: "x", Levels: []ratelimit.Level{level}},
			Enqueue: &store.Enqueue{Kind: "message", Payload: []byte("{")},
		}})
		require.NoError(t, err)
		b.admit(t, "a", 1)
		b.run(t, time.Second)
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, b.ledger(t, "a"))
	})
}

func TestUndecodableExtrasBlockNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		b := setup(func(data *memory.Data) pipeline.CourierOutbox {
			box := memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
			for i, kind := range []string{store.KindEdit, store.KindDigest, store.KindDigestEdit, store.KindNotice, "strange"} {
				for j, payload := range []string{"nonsense", "4711", `{"post":"4711"}`} {
					err := box.Append(t.Context(), store.Channel{Group: "a", Name: "a"}, fmt.Sprint(i, j), kind, []byte(payload))
					require.NoError(t, err)
				}
			}
			return box
		}, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Minute)
		require.Contains(t, to.sent, "🔵 *t0*")
		other := memory.New(b.store, memory.Options{Options: store.Options{Owner: "you"}})
		claim, err := other.Claim(t.Context(), store.Channel{Group: "a", Name: "a"}, store.Terms{Pace: store.Pace{Burst: 1}}, false)
		require.NoError(t, err)
		require.Equal(t, store.Empty, claim.State, "nothing is left")
	})
}

func TestChannelsOfOneCredentialShareItsBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, other := &bot{posts: 60}, &bot{posts: 60}
		b := setup(nil, channel("a", one), channel("b", other))
		box := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
		b.courier = pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: box, Budget: box, Channels: []pipeline.Channel{channel("a", one), channel("b", other)},
			Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
		})
		b.admit(t, "a", 60)
		b.admit(t, "b", 60)
		b.run(t, 30*time.Second)
		require.InDelta(t, 30+30, len(one.sent)+len(other.sent), 3, "half of a minute's at once, then one a second")
		b.run(t, 2*time.Minute)
		require.Equal(t, 120, len(one.sent)+len(other.sent))
	})
}

// A message that is refused as plain text too is buried.
func TestRefusedLayoutIsSentOnceAsPlainText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(n int) error {
			if n == 0 || n == 2 || n == 3 {
				return &notifier.Error{Action: notifier.Degrade, Reason: "invalid_blocks"}
			}
			return nil
		}}
		b := setup(nil, channel("a", to))
		b.admit(t, "a", 2)
		b.run(t, time.Minute)
		require.Len(t, to.at, 4)
		require.Len(t, to.sent, 1)
		require.True(t, strings.HasPrefix(to.sent[0], "🔵 *t0*\ninfo"), to.sent[0])
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, b.ledger(t, "a"))
	})
}

// It answers the message that it could not edit, unless that is gone.
func TestRefusedEditOfAResolveIsPosted(t *testing.T) {
	t.Parallel()
	for reason, thread := range map[notifier.Reason]string{"edit_window_closed": "1.000001", "message_not_found": ""} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{}
				to.refuse = func() error { return &notifier.Error{Action: notifier.Repost, Reason: reason} }
				ch := channel("a", to)
				ch.Handling = &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
				b := setup(nil, ch)
				alert := events.Event{
					ID: "1", Source: "x", Category: "c", Severity: events.Error, Status: events.Firing, Fingerprint: "f", Title: "broken",
				}
				receipt, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
				require.NoError(t, err)
				require.Equal(t, 1, receipt.Admitted)
				b.run(t, 5*time.Second)
				alert.ID = "2"
				alert.Status = events.Resolved
				receipt, err = b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
				require.NoError(t, err)
				require.Equal(t, 1, receipt.Merged)
				b.run(t, 5*time.Second)
				require.Len(t, to.sent, 2)
				require.Contains(t, to.sent[1], "Resolved: broken")
				require.Equal(t, thread, to.thread[1])
				require.Equal(t, store.Ledger{Received: 2, Admitted: 1, Merged: 1, Delivered: 1}, b.ledger(t, "a"))
			})
		})
	}
}

func TestStopFinishesTheMessageInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{delay: 2 * time.Second}
		b := setup(nil, channel("a", to))
		b.admit(t, "a", 2)
		b.run(t, time.Second)
		require.Len(t, to.sent, 1)
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Pending: 1}, b.ledger(t, "a"))
	})
}
