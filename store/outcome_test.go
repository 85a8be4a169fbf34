package store_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
	"slackrelay/test/golden"
)

// Every outcome is counted as one of those that people see, and each of these has its total in the ledger.
func TestEveryOutcomeHasItsTotalInTheLedger(t *testing.T) {
	t.Parallel()
	people := []store.Outcome{store.Admitted, store.Dropped, store.Duplicate, store.Muted, store.Merged, store.Delayed}
	for o := store.Admitted; o.Valid(); o++ {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			counted := o.CountedAs()
			require.Contains(t, people, counted)
			require.Equal(t, counted, counted.CountedAs())
			if o.Reason() != "" {
				require.True(t, o.Drops(), "only drops have a reason")
			}
			ledger := store.ParseLedger(map[string]int64{"received": 1, counted.String(): 1}, 0)
			encoded, err := json.Marshal(ledger)
			require.NoError(t, err)
			var totals map[string]int64
			require.NoError(t, json.Unmarshal(encoded, &totals))
			require.Equal(t, int64(1), totals[counted.String()])
			want := int64(0)
			if counted == store.Admitted { // and nothing says how it ended
				want = 1
			}
			require.Equal(t, want, ledger.Imbalance())
		})
	}
}

// The glossary explains every outcome that people see, and every reason of a drop.
func TestGoldenGlossaryExplainsEveryOutcome(t *testing.T) {
	t.Parallel()
	outcomes, reasons := "| outcome | meaning |\n|---|---|\n", "| reason | meaning |\n|---|---|\n"
	for _, o := range store.Outcomes() {
		row := fmt.Sprintf("| `%s` | %s |\n", o, o.Meaning())
		if o.CountedAs() == o {
			outcomes += row
		}
		if o.Reason() != "" {
			reasons += row
		}
	}
	golden.Block(t, "../docs/glossary.md", "outcomes", outcomes)
	golden.Block(t, "../docs/glossary.md", "reasons", reasons)
}

// The record of a drop has either the reason of its outcome, or the name of the level that refused.
func TestOutcomeOfDropIsFoundByItsReason(t *testing.T) {
	t.Parallel()
	for _, o := range store.Outcomes() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			want := o
			if o.Reason() == "" {
				want = store.Dropped
			}
			require.Equal(t, want, store.OutcomeOfDrop(o.Reason()))
		})
	}
	require.Equal(t, store.Dropped, store.OutcomeOfDrop("category"))
}
