package pipeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/test/golden"
)

func TestGoldenReceiptJSONIsStable(t *testing.T) {
	t.Parallel()
	var all []events.Event
	var decisions []store.Decision
	for _, o := range store.Outcomes() {
		all = append(all, events.Event{ID: o.String(), Category: "c"})
		decisions = append(decisions, store.Decision{
			Decision: ratelimit.Decision{Level: "category", RetryAfter: 2975068 * time.Microsecond},
			Outcome:  o, Durable: true,
		})
	}
	receipt := newReceipt(all, decisions)
	receipt.Events = append(receipt.Events, EventReceipt{})
	receipt.addMuted(&events.Event{ID: "muted", Category: "c"}, len(all), "rule quiet")
	golden.JSON(t, "testdata/receipt.golden", receipt)
}

// An outcome that is added to the limiter either drops the event, or has a count of its own in the receipt.
func TestReceiptCountsEveryOutcome(t *testing.T) {
	t.Parallel()
	for _, o := range store.Outcomes() {
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
