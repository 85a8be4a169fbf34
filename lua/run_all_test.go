package lua_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

// A server that was restarted does not have the script: all calls run all the same, in their order.
func TestRunAllRunsEachCallWhetherTheServerHasTheScriptOrNot(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	conn := lua.NewConn(client, 0)
	var calls []lua.Call
	for i := range 20 {
		key := fmt.Sprintf("relay:{c%d}:pause", i)
		require.NoError(t, client.HSet(t.Context(), key, "until", "9000000000000000", "reason", fmt.Sprint("r", i)).Err())
		calls = append(calls, lua.Call{Keys: []string{key}})
	}
	for range 2 {
		for i, reply := range lua.RunAll(t.Context(), conn, lua.CredentialPaused, calls) {
			values, err := reply.Slice()
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("r", i), values[1])
		}
	}
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	require.NoError(t, lua.RunAll(t.Context(), conn, lua.CredentialPaused, calls)[19].Err())
}
