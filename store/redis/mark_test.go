package redis_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

// What bounds the posted messages of a channel counts the marks on them too.
func TestMarksAreCountedInTheBytesOfPostedMessages(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	f := onServer(lua.NewConn(client, 0))
	limits := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(10)}
	f.AdmitOne(t, limits.AlertRequest(&store.MessagePolicy{Overflow: "drop", Resolves: "edit"}, "1", "c", store.Firing, "f"))
	place := store.Receipt{Channel: "C1", TS: "1.000001"}
	posted := storetest.ClaimEntry(t, f.A)
	require.NoError(t, f.A.Ack(t.Context(), storetest.Scope, posted, place))
	change := store.MarkChange{
		Message: posted.Number, Place: place, Kind: store.MarkMuted, For: time.Hour, Mark: store.Mark{User: "U1", Name: "ada", Silence: "one"},
	}
	for _, remove := range []bool{false, true} {
		change.Remove = remove
		result, _, err := f.A.Mark(t.Context(), storetest.Scope, change)
		require.NoError(t, err)
		require.Equal(t, store.MarkChanged, result)
		kept := client.HGetAll(t.Context(), storetest.Scope.Keys().Posted()).Val()
		require.Equal(t, strconv.Itoa(len(kept[strconv.FormatInt(posted.Number, 10)])), kept["bytes"])
	}
}
