package pipeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/store"
)

func TestAReceiptSaysTheWaitWithoutNoise(t *testing.T) {
	t.Parallel()
	receipt := newReceipt([]events.Event{{}}, []store.Decision{{Outcome: store.Dropped, RetryAfter: 2975068 * time.Microsecond}})
	text, err := json.Marshal(receipt)
	require.NoError(t, err)
	require.Contains(t, string(text), `"retry_after":2.975068}`)
}
