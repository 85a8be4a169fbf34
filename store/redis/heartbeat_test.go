package redis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
	"slackrelay/store/storetest"
)

// replicas are processes that share one server. The store in memory has one process only.
type replicas struct {
	t *testing.T
	storetest.Fixture
}

const alive = 10 * time.Second

func (r replicas) beat(beat store.Heartbeat) store.HeartbeatReply {
	r.t.Helper()
	beat.TTL = alive
	reply, err := r.C.Heartbeat(r.t.Context(), beat)
	require.NoError(r.t, err)
	return reply
}

func newReplicas(t *testing.T) replicas {
	t.Helper()
	return replicas{t, storetest.Redis(t)}
}

// A replica counts as alive until its time is over, or until it ends. Who only reads does not count.
func TestReplicasAreCountedWhileTheyAreAlive(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	require.Zero(t, r.beat(store.Heartbeat{}).Alive)
	r.beat(store.Heartbeat{Replica: "one"})
	r.Advance(alive - time.Microsecond)
	require.Equal(t, int64(2), r.beat(store.Heartbeat{Replica: "two"}).Alive)
	r.Advance(time.Microsecond)
	require.Equal(t, int64(1), r.beat(store.Heartbeat{}).Alive, "the first one's time is over")
	require.Equal(t, int64(2), r.beat(store.Heartbeat{Replica: "three"}).Alive)
	require.Equal(t, int64(1), r.beat(store.Heartbeat{Replica: "two", Ended: true}).Alive)
}

// A replica learns the windows of the others: their texts, except those that it has. Its own windows it does not get.
func TestReplicasLearnTheWindowsOfTheOthers(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	one := store.Heartbeat{Replica: "one", Digest: "1", Text: "first windows"}
	two := store.Heartbeat{Replica: "two", Digest: "2", Text: "second windows"}
	require.Empty(t, r.beat(one).Others)
	require.Equal(t, map[string]string{"1": "first windows"}, r.beat(two).Others)
	one.Text, one.Known = "", []string{"3", "2"}
	reply := r.beat(one)
	require.Equal(t, map[string]string{"2": ""}, reply.Others)
	require.False(t, reply.TextMissing)
	one.Known = []string{"3"}
	require.Equal(t, map[string]string{"2": "second windows"}, r.beat(one).Others)
	require.Empty(t, r.beat(store.Heartbeat{Replica: "three"}).Others, "it sends no windows, and gets none")

	same := store.Heartbeat{Replica: "four", Digest: "1"}
	require.False(t, r.beat(same).TextMissing, "another replica sent the text")
	require.Equal(t, map[string]string{"1": "first windows", "2": "second windows"}, r.beat(same).Others)
}

// Where the text of a digest is not stored, the replica is asked for it, and nobody counts in its windows until then.
func TestMissingTextIsAskedFor(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	r.beat(store.Heartbeat{Replica: "one", Digest: "1", Text: "first windows"})
	two := store.Heartbeat{Replica: "two", Digest: "2"}
	require.True(t, r.beat(two).TextMissing)
	require.Empty(t, r.beat(store.Heartbeat{Replica: "one", Digest: "1"}).Others)
	two.Text = "second windows"
	require.False(t, r.beat(two).TextMissing)
	require.Equal(t, map[string]string{"2": "second windows"}, r.beat(store.Heartbeat{Replica: "one", Digest: "1"}).Others)
}

// The windows of a replica are forgotten when it ends, is silent, or sends no windows any more; texts that nobody uses too.
func TestWindowsOfAReplicaThatIsGoneAreForgotten(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(r replicas){
		"it ends":          func(r replicas) { r.beat(store.Heartbeat{Replica: "two", Ended: true}) },
		"it is silent":     func(r replicas) { r.Advance(alive) },
		"it sends none":    func(r replicas) { r.beat(store.Heartbeat{Replica: "two"}) },
		"it counts in one": func(r replicas) { r.beat(store.Heartbeat{Replica: "two", Digest: "1"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t)
			one := store.Heartbeat{Replica: "one", Digest: "1", Text: "first windows"}
			two := store.Heartbeat{Replica: "two", Digest: "2", Text: "second windows"}
			r.beat(one)
			r.beat(two)
			leave(r)
			require.NotContains(t, r.beat(one).Others, "2")
			two.Text = ""
			require.True(t, r.beat(two).TextMissing, "its text was deleted")
			one.Text = ""
			require.False(t, r.beat(one).TextMissing, "that of the other was not")
		})
	}
}
