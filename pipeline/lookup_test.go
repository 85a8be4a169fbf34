package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestMessageOfUnknownStateIsLookedUpTwiceBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: unknownState(0)}}
		b := setup(nil, channel("a", to))
		begin := time.Now()
		b.admit(t, "a", 2)
		b.run(t, time.Minute)
		require.Equal(t, []string{"🔵 *t0*", "🔵 *t1*"}, to.sent)
		require.Len(t, to.looked, 2)
		require.WithinRange(t, to.looked[0], begin.Add(10*time.Second), begin.Add(11*time.Second))
		require.WithinRange(t, to.looked[1], begin.Add(30*time.Second), begin.Add(31*time.Second))
		require.WithinRange(t, to.at[1], begin.Add(30*time.Second), begin.Add(31*time.Second))
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.ledger(t, "a"))
	})
}

func TestMessageFoundByALookupIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: unknownState(0)}}
		var asked notifier.Query
		to.page = func(n int, q notifier.Query) (notifier.Page, error) {
			if asked = q; n < 3 {
				return notifier.Page{Cursor: fmt.Sprint(n)}, nil
			}
			return notifier.Page{Found: true, At: notifier.Receipt{Channel: "C1", TS: "7.000001"}}, nil
		}
		begin := time.Now()
		b := setup(nil, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.at, 1)
		require.Len(t, to.looked, 4, "page by page")
		require.Equal(t, "2", asked.Cursor)
		require.WithinDuration(t, begin, asked.Since, time.Second, "from the first attempt on")
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.ledger(t, "a"))
	})
}

// A lookup that fails is tried again; one that is refused leaves the decision to the severity.
func TestRefusedLookupLeavesTheDecisionToTheSeverity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		drop bool
		want store.Ledger
	}{
		"retry": {false, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}},
		"drop":  {true, store.Ledger{Received: 1, Admitted: 1, Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{sink: sink{answer: unknownState(0)}}
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
				ch.DropUnknown = map[events.Severity]bool{events.Info: c.drop}
				b := setup(nil, ch)
				b.admit(t, "a", 1)
				b.run(t, time.Minute)
				require.Len(t, to.looked, 3)
				require.Equal(t, c.want, b.ledger(t, "a"))
				require.Contains(t, b.log.String(), "channels:history")
			})
		})
	}
}

// It is decided by the severities of the events that the digest counts.
func TestDigestOfUnknownStateIsDroppedOnlyIfAllItsSeveritiesAre(t *testing.T) {
	t.Parallel()
	info := map[events.Severity]bool{events.Info: true}
	all := map[events.Severity]bool{events.Info: true, events.Error: true}
	for name, c := range map[string]struct {
		drop map[events.Severity]bool
		sent int
	}{"retry": {nil, 2}, "drop": {all, 1}, "drop only one of the severities": {info, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{answer: unknownState(0)}
				var box *memory.Store
				ch := channel("a", to)
				ch.DropUnknown = c.drop
				where := store.Channel{Group: "a", Name: "a"}
				b := setup(func(data *memory.Data) pipeline.CourierOutbox {
					box = memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
					digest := `{"id":"a:1","counts":{"d:disk:info":2,"x:disk:error":1,"t:full":3}}`
					require.NoError(t, box.Append(t.Context(), where, "1", store.KindDigest, []byte(digest)))
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
				require.Equal(t, store.KindDigest, letters[0].Kind)
				require.Equal(t, string(notifier.UnknownSendState), letters[0].Reason)
			})
		})
	}
}

func TestMessageIsSentAgainWhenLookupsNeverSucceed(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]*notifier.Error{
		"a Slack that knows no such method": {Action: notifier.Retry, OwnFault: true, Reason: notifier.UnknownAnswer},
		"a channel that the bot is not in":  {Action: notifier.GiveUp, Reason: "not_in_channel"},
		"a history that is always down":     {Action: notifier.Retry, Reason: notifier.SlackUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{sink: sink{answer: unknownState(0)}}
				to.page = func(int, notifier.Query) (notifier.Page, error) { return notifier.Page{}, failure }
				b := setup(nil, channel("a", to))
				b.admit(t, "a", 2)
				b.run(t, 30*time.Minute)
				require.Len(t, to.sent, 2)
			})
		})
	}
}

// The message is looked up again when the credential is fixed.
func TestCredentialRefusedInALookupPausesTheChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: unknownState(0)}}
		to.page = func(n int, _ notifier.Query) (notifier.Page, error) {
			if n == 0 {
				return notifier.Page{}, &notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}
			}
			return notifier.Page{Found: true, At: notifier.Receipt{TS: "1.000001"}}, nil
		}
		b := setup(nil, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, 5*time.Minute)
		require.Len(t, to.looked, 2)
		require.InDelta(t, time.Minute, to.looked[1].Sub(to.looked[0]), float64(2*time.Second))
		require.Len(t, to.at, 1, "it is not sent again")
	})
}

// renewing is an outbox whose first renewals of a lease fail, as when Redis is unavailable for a moment.
type renewing struct {
	pipeline.CourierOutbox
	failing int
}

func (r *renewing) Renew(ctx context.Context, channel store.Channel) (time.Time, error) {
	if r.failing--; r.failing >= 0 {
		return time.Time{}, fmt.Errorf("renew: %w", ratelimit.ErrUnavailable)
	}
	return r.CourierOutbox.Renew(ctx, channel)
}

func TestLookupWithoutALeaseIsAFaultOfRedisAndNotOfTheNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{answer: unknownState(0)}}
		to.page = func(int, notifier.Query) (notifier.Page, error) {
			return notifier.Page{Found: true, At: notifier.Receipt{Channel: "C1", TS: "7.000001"}}, nil
		}
		b := setup(func(data *memory.Data) pipeline.CourierOutbox {
			options := store.Options{Owner: "me", Lease: 8 * time.Second} // it must outlast a page and a message
			return &renewing{memory.New(data, memory.Options{Options: options}), 1}
		}, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.looked, 1)
		require.Len(t, to.at, 1, "it is not sent again")
		require.Contains(t, b.log.String(), "reason=redis")
		require.NotContains(t, b.log.String(), "reason=network")
	})
}
