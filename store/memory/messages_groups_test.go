package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	"slackrelay/store/storetest"
)

// The second resolve takes the place of the bundle's only message, so nothing can join that bundle. If the first resolve,
// which waits for a slot, had continued the bundle, the last event would join it all the same.
func TestAResolveThatWaitsDoesNotContinueABundle(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	channel := store.Channel{Name: "alerts"}
	policy := &store.MessagePolicy{
		Overflow: store.OverflowDelay, Resolves: store.ResolvesPost, MaxDelayed: 3, MaxDelay: time.Hour,
	}
	request := func(id, bundle string, status store.Status, fingerprint string) store.Request {
		return store.Request{
			Request: ratelimit.Request{
				ID:       id,
				Category: "errors",
				Levels:   []ratelimit.Level{storetest.ChannelLevel("alerts", ratelimit.Window{Limit: 1, Per: time.Hour})},
			},
			Policy:  policy,
			Event:   store.Event{Status: status, Fingerprint: fingerprint, Bundle: bundle, Title: id},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(id)},
		}
	}
	admit := func(requests ...store.Request) (outcomes []store.Outcome) {
		answer, err := s.Admit(t.Context(), channel, requests)
		require.NoError(t, err)
		for _, d := range answer.Decisions {
			outcomes = append(outcomes, d.Outcome)
		}
		return outcomes
	}
	require.Equal(t, []store.Outcome{store.Admitted}, admit(request("firing", "@", store.Firing, "f")))
	require.Equal(t, []store.Outcome{store.Delayed}, admit(request("other", "", store.Firing, "g")))
	require.Equal(t, []store.Outcome{store.Delayed, store.Admitted, store.Delayed}, admit(
		request("resolve of unknown", "@", store.Resolved, "h"),
		request("resolve", "@", store.Resolved, "f"),
		request("next", "@", "", ""),
	))
}
