package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var heartbeatsBehaviours = []behaviour{
	{"SingleReplicaIsAlive", testSingleReplicaIsAlive},
	{"EpochStays", testEpochStays},
}

func (b Fixture) beat(t *testing.T, beat store.Heartbeat) store.HeartbeatReply {
	t.Helper()
	if beat.TTL == 0 {
		beat.TTL = 10 * time.Second
	}
	reply, err := b.C.Heartbeat(t.Context(), beat)
	require.NoError(t, err)
	return reply
}

// A replica that is alone counts itself, however often it sends a heartbeat, and gets no windows of others.
func testSingleReplicaIsAlive(t *testing.T, start Start) {
	b := start(t)
	for range 2 {
		reply := b.beat(t, store.Heartbeat{Replica: "one", Digest: "1", Text: "windows"})
		require.Equal(t, int64(1), reply.Alive)
		require.NotEmpty(t, reply.Epoch)
		require.Empty(t, reply.Others)
		require.False(t, reply.TextMissing)
	}
}

func testEpochStays(t *testing.T, start Start) {
	b := start(t)
	epoch := b.beat(t, store.Heartbeat{Replica: "one"}).Epoch
	b.Advance(24 * time.Hour)
	require.Equal(t, epoch, b.beat(t, store.Heartbeat{Replica: "two"}).Epoch)
}
