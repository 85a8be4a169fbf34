package pipeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// outcomes returns all outcomes.
func outcomes() (all []store.Outcome) {
	for o := store.Admitted; o.Valid(); o++ {
		all = append(all, o)
	}
	return all
}

func TestReceiptJSONIsStable(t *testing.T) {
	t.Parallel()
	var all []events.Event
	var decisions []store.Decision
	for _, o := range outcomes() {
		all = append(all, events.Event{ID: o.String(), Category: "c"})
		decisions = append(decisions, store.Decision{
			Decision: ratelimit.Decision{Level: "category", RetryAfter: 2975068 * time.Microsecond},
			Outcome:  o, Durable: true,
		})
	}
	receipt := newReceipt(all, decisions)
	receipt.Events = append(receipt.Events, EventReceipt{})
	receipt.addMuted(&events.Event{ID: "muted", Category: "c"}, len(all), "rule quiet")
	text, err := json.Marshal(receipt)
	require.NoError(t, err)
	require.Equal(t, `{"received":11,"admitted":2,"dropped":4,"duplicate":1,"muted":2,"merged":1,"delayed":1,"durable":true,"events":[`+
		`{"id":"admitted","category":"c","outcome":"admitted"},`+
		`{"id":"dropped","category":"c","outcome":"dropped","level":"category","retry_after":2.975068},`+
		`{"id":"duplicate","category":"c","outcome":"duplicate"},`+
		`{"id":"never","category":"c","outcome":"dropped","level":"never"},`+
		`{"id":"merged","category":"c","outcome":"merged"},`+
		`{"id":"delayed","category":"c","outcome":"delayed"},`+
		`{"id":"suppressed","category":"c","outcome":"dropped","level":"suppressed"},`+
		`{"id":"full","category":"c","outcome":"dropped","level":"full"},`+
		`{"id":"superseding","category":"c","outcome":"admitted"},`+
		`{"id":"muted","category":"c","outcome":"muted"},`+
		`{"id":"muted","category":"c","outcome":"muted","by":"rule quiet"}]}`, string(text))
}

// An outcome that is added to the limiter either drops the event, or has a count of its own in the receipt.
func TestReceiptCountsEveryOutcome(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			receipt := newReceipt(make([]events.Event, 1), []store.Decision{{Outcome: o}})
			counted := 0
			for _, n := range receipt.Counts() {
				counted += n
			}
			require.Equal(t, receipt.Received, counted)
		})
	}
}

// The names of the counts in JSON are those of the outcomes.
func TestReceiptCountsAreNamedByOutcome(t *testing.T) {
	t.Parallel()
	var receipt Receipt
	for i, c := range receipt.counters() {
		*c.n = i + 1
	}
	text, err := json.Marshal(receipt)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for outcome, n := range receipt.Counts() {
		require.InDelta(t, n, fields[outcome], 0, outcome)
	}
}
