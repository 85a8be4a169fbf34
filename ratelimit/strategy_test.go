package ratelimit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryStrategyIsListedAndCounts(t *testing.T) {
	t.Parallel()
	require.Len(t, Strategies(), len(methods))
	for _, kind := range Strategies() {
		require.Contains(t, methods, kind)
	}
}
