package replica_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit/replica"
	"slackrelay/store/storetest"
)

// awaitUp waits until a replica is back on the shared store.
func awaitUp(t *testing.T, l storetest.Limiter) {
	t.Helper()
	shared, ok := l.(*replica.Limiter)
	require.True(t, ok, "a limiter of a replica")
	require.Eventually(t, func() bool { return shared.Health().Up }, 10*time.Second, time.Millisecond)
}
