package pipeline

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// A field that is added to a receipt is added to AppendJSON too: the fuzz test sets all of these.
func TestReceiptsHaveTheFieldsThatAppendJSONWrites(t *testing.T) {
	t.Parallel()
	require.Equal(t, 10, reflect.TypeFor[Receipt]().NumField())
	require.Equal(t, 8, reflect.TypeFor[EventReceipt]().NumField())
}

func FuzzReceiptIsWrittenAsEncodingJSONDoes(f *testing.F) {
	f.Add("id", "category", "dropped", "category", "", "other", "rule quiet", 2.975068, 1, true, 1)
	f.Add("a\"<&>\x00\u2028\xff", "ä", "", "", "", "", "", 1e-6, -1, false, 2)
	f.Add("", "", "", "never", "too large", "", "", 1e21, 0, false, 2)
	f.Add("~ \x7f", "", "", "", "<b>", "\\", "/", 0.0, 0, false, 3)
	f.Fuzz(func(
		t *testing.T, id, category, outcome, level, why, channel, by string, wait float64, n int, durable bool, events int,
	) {
		if _, err := json.Marshal(wait); err != nil {
			return // no wait is infinite
		}
		receipt := Receipt{
			Received: n, Admitted: n + 1, Dropped: n + 2, Duplicate: n + 3, Muted: n + 4, Merged: n + 5, Delayed: n + 6, Forced: n % 3,
			Durable: durable,
		}
		for i := range events % 4 {
			event := EventReceipt{ID: id, Category: category, Outcome: outcome, Level: level, Explanation: why, Channel: channel, By: by}
			if i > 0 {
				event.RetryAfter = &wait
			}
			receipt.Events = append(receipt.Events, event)
		}
		want, err := json.Marshal(receipt)
		require.NoError(t, err)
		require.Equal(t, string(want), string(receipt.AppendJSON(nil)))
	})
}
