package simulation

import (
	"context"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// observedStore is a store that reports to a tally what was decided, and what was posted.
type observedStore struct {
	*memory.Store
	tally *tally
	now   func() time.Duration // since the beginning of the trace
}

// Admit implements [pipeline.Admitter].
func (s *observedStore) Admit(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.observe(ctx, s.Store.Admit, channel, requests)
}

// Promote implements [pipeline.Admitter].
func (s *observedStore) Promote(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.observe(ctx, s.Store.Promote, channel, requests)
}

func (s *observedStore) observe(
	ctx context.Context, decide store.DecideFunc, channel store.Channel, requests []store.Request,
) (store.Answer, error) {
	answer, err := decide(ctx, channel, requests)
	for i := range answer.Decisions {
		r := &requests[i]
		isResolve := r.Event.Status == store.Resolved
		s.tally.decide(s.now(), decided{
			category: r.Category, isCritical: r.Event.Severity == string(events.Critical) && !isResolve, isResolve: isResolve,
			fingerprint: r.Event.Fingerprint, outcome: answer.Decisions[i].Outcome, number: answer.Numbers[i],
			payload: r.Payload(),
		})
	}
	return answer, err
}

// Ack implements [pipeline.CourierOutbox].
func (s *observedStore) Ack(ctx context.Context, channel store.Channel, entry store.Entry, receipt store.Receipt) error {
	s.show(&entry)
	return s.Store.Ack(ctx, channel, entry, receipt)
}

// AckClaim implements [pipeline.CourierOutbox].
func (s *observedStore) AckClaim(
	ctx context.Context, channel store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	s.show(&delivered.Entry)
	return s.Store.AckClaim(ctx, channel, delivered, terms, look)
}

// Expire implements [pipeline.CourierOutbox].
func (s *observedStore) Expire(ctx context.Context, channel store.Channel, entry store.Entry, digestCounts map[string]int64) error {
	s.tally.expire(entry.Number)
	return s.Store.Expire(ctx, channel, entry, digestCounts)
}

// show reports what Slack shows of an entry.
func (s *observedStore) show(entry *store.Entry) {
	switch {
	case strings.HasSuffix(entry.Kind, store.KindEdit):
		s.tally.edit()
	case entry.Kind == store.KindDigest:
		s.tally.postDigest(s.now())
	default:
		s.tally.post(s.now(), entry.Number)
	}
}
