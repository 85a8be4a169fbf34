package ratelimit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryStrategyIsListedAndCounts(t *testing.T) {
	t.Parallel()
	for i, kind := range Strategies() {
		require.NotEmpty(t, kind)
		require.Same(t, methods[i], methodOf(kind), "%s is listed twice", kind)
	}
}
