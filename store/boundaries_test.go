package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

func TestADigestRefusesBadArguments(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	keys := []string{"digest", "told", "extras", "entries", "posted", "aged"}
	for name, args := range map[string][]any{
		"nothing":       {},
		"no interval":   {"demo", "", 30, 1},
		"interval of 0": {"demo", 0, 30, 1},
		"no every":      {"demo", 1000, "", 1},
		"no minimum":    {"demo", 1000, 30, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, lua.Digester.Run(t.Context(), client, keys, args...).Err(), "ARG a channel, an interval above 0")
		})
	}
	require.NoError(t, lua.Digester.Run(t.Context(), client, keys, "demo", 1, 30, 1).Err(), "the shortest interval")
}
