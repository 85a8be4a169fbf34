package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// flaky is an outbox whose calls fail for a while, as when Redis is unavailable.
type flaky struct {
	pipeline.CourierOutbox
	failing int // how many more calls fail
	err     error
}

// over makes it an outbox on a store.
func (f *flaky) over(data *memory.Data) pipeline.CourierOutbox {
	f.CourierOutbox = memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
	return f
}

func (f *flaky) Ack(ctx context.Context, ch store.Channel, entry store.Entry, at store.Receipt) error {
	if f.failing--; f.failing >= 0 {
		return f.err
	}
	return f.CourierOutbox.Ack(ctx, ch, entry, at)
}

func (f *flaky) AckClaim(
	ctx context.Context, ch store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	if f.failing--; f.failing >= 0 {
		return store.Claim{}, f.err
	}
	return f.CourierOutbox.AckClaim(ctx, ch, delivered, terms, look)
}

func (f *flaky) Bury(ctx context.Context, ch store.Channel, entry store.Entry, death store.DeadReason) error {
	if f.failing--; f.failing >= 0 {
		return f.err
	}
	return f.CourierOutbox.Bury(ctx, ch, entry, death)
}

func TestAckIsRepeatedUntilTheOutboxIsAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		box := &flaky{failing: 5, err: errors.New("redis is unavailable")}
		b := setup(box.over, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.sent, 1, "not sent again")
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.ledger(t, "a"))
	})
}

func TestAckIsNotRepeatedAfterALostLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		box := &flaky{failing: 1, err: fmt.Errorf("ack: %w", store.ErrLeaseLost)}
		b := setup(box.over, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Minute)
		require.Contains(t, b.log.String(), "it may be posted twice")
		require.InDelta(t, 1, testutil.ToFloat64(counter(t, b.registry, "unsettled")), 0)
		require.Len(t, to.sent, 2)
	})
}

func TestBuryThatFailsIsTriedAgainAndNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(int) error { return &notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"} }}
		box := &flaky{failing: 1, err: fmt.Errorf("bury: %w", store.ErrLeaseLost)}
		b := setup(box.over, channel("a", to))
		b.admit(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.at, 2)
		require.InDelta(t, 1, testutil.ToFloat64(counter(t, b.registry, "failed")), 0)
		require.InDelta(t, 1, testutil.ToFloat64(counter(t, b.registry, "retried")), 0)
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("message moved to the dead letters")))
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Failed: 1}, b.ledger(t, "a"))
	})
}

// A send starts only if the lease outlasts the request's timeout.
func TestNothingIsSentWhenTheLeaseEndsTooSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(func(data *memory.Data) pipeline.CourierOutbox {
			return memory.New(data, memory.Options{Options: store.Options{Owner: "me", Lease: 4 * time.Second}})
		}, pipeline.Channel{
			Name: "a", Sender: to, Pace: store.Pace{Every: time.Second, Burst: 1},
			Tiers: tiers(ratelimit.Window{Limit: 9, Per: time.Minute}, ratelimit.Window{Limit: 9, Per: time.Minute}),
		})
		b.admit(t, "a", 1)
		b.run(t, 3*time.Second)
		require.Empty(t, to.at)
		require.Contains(t, b.log.String(), "the lease ends too soon")
	})
}

// unavailable is an outbox whose calls fail.
type unavailable struct{ pipeline.CourierOutbox }

func (unavailable) Claim(context.Context, store.Channel, store.Terms, bool) (store.Claim, error) {
	return store.Claim{}, errors.New("redis is unavailable")
}

func (unavailable) Release(context.Context, store.Channel) error {
	return errors.New("redis is unavailable")
}

func (unavailable) Due(context.Context, []store.Channel, bool) ([]store.Work, error) {
	return nil, errors.New("redis is unavailable")
}

func TestOutboxOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(func(*memory.Data) pipeline.CourierOutbox { return unavailable{} }, channel("a", &sink{}))
		b.run(t, time.Minute)
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("outbox unavailable;")))
		require.Zero(t, bytes.Count(b.log.Bytes(), []byte("could not give up the lease")), "it never had one")
	})
}

// stalled answers claims too late, as a Redis does that stalls after it has run the script.
type stalled struct {
	pipeline.CourierOutbox
	claims int // how many claims get no answer, still
	acks   int // how many acknowledgements
}

func (s *stalled) Claim(ctx context.Context, ch store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	if s.claims == 0 || look {
		return s.CourierOutbox.Claim(ctx, ch, terms, look)
	}
	s.claims--
	return s.CourierOutbox.Claim(&late{Context: ctx}, ch, terms, look)
}

func (s *stalled) AckClaim(
	ctx context.Context, ch store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	if s.acks == 0 {
		return s.CourierOutbox.AckClaim(ctx, ch, delivered, terms, look)
	}
	s.acks--
	return s.CourierOutbox.AckClaim(&late{Context: ctx}, ch, delivered, terms, look)
}

// late is a context that ends while its call runs.
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

// It was claimed, but certainly not sent: it is neither looked up nor dropped, and blocks nothing.
func TestMessageOfAClaimWithoutAnswerIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, lookable := range map[string]bool{"by a bot": true, "by a webhook": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{}
				ch := channel("a", to)
				ch.DropUnknown = map[events.Severity]bool{events.Info: true}
				if !lookable {
					ch.Sender = &to.sink
				}
				b := setup(func(data *memory.Data) pipeline.CourierOutbox {
					return &stalled{CourierOutbox: memory.New(data, memory.Options{Options: store.Options{Owner: "me"}}), claims: 3, acks: 2}
				}, ch)
				begin := time.Now()
				b.admit(t, "a", 3)
				b.run(t, time.Minute)
				require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 3}, b.ledger(t, "a"))
				require.Len(t, to.at, 3)
				require.WithinRange(t, to.at[2], begin, begin.Add(2*time.Second))
				require.Empty(t, to.looked)
			})
		})
	}
}

// reused returns records of messages that were admitted later than the entry that refers to them, and reuse their numbers.
type reused struct{ pipeline.CourierOutbox }

func (r reused) PostedMessage(ctx context.Context, ch store.Channel, number int64) (*store.PostedMessage, error) {
	record, err := r.CourierOutbox.PostedMessage(ctx, ch, number)
	if record != nil {
		record.At += time.Hour.Microseconds()
	}
	return record, err
}

// Redis lost data between a claim and the look at the message that the entry belongs to: another has its number now.
func TestMessageThatReusesANumberIsNeitherAnsweredNorEdited(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"the same": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &bot{}
				ch := channel("a", to)
				ch.Handling = &store.MessagePolicy{Overflow: "drop", Resolves: "reply"}
				var box pipeline.CourierOutbox
				b := setup(func(data *memory.Data) pipeline.CourierOutbox {
					box = memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
					if again {
						return reused{box}
					}
					return box
				}, ch)
				alert := events.Event{Source: "x", Category: "c", Severity: events.Error, Fingerprint: "f", Title: "broken"}
				for _, status := range []events.Status{events.Firing, events.Resolved} {
					alert.Status = status
					alert.ID = string(status)
					_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
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
