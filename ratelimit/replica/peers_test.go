package replica_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// The two configurations of a rolling change.
var (
	longer  = ratelimit.LevelSpec{Name: "channel", Windows: []ratelimit.Window{{Limit: 40, Per: time.Minute}}}
	shorter = ratelimit.LevelSpec{Name: "channel", Windows: []ratelimit.Window{{Limit: 20, Per: 30 * time.Second}}}
)

// channelLevel is the level of the channel under test, alone.
func channelLevel(spec ratelimit.LevelSpec) []ratelimit.Level {
	return []ratelimit.Level{store.ChannelLevel(spec, storetest.Scope.Group)}
}

// replicas share one Redis, and a clock that the test moves.
type replicas struct {
	*redistest.Clocked
	t   *testing.T
	ids int
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	return &replicas{Clocked: redistest.NewClocked(t, redistest.Start(t).Client(), storetest.StartTime), t: t}
}

// start starts a replica that sent no heartbeat yet.
func (r *replicas) start(name string, spec ratelimit.LevelSpec) *replica.Limiter {
	s := storetest.Share(r.t, redisstore.New(r.Clocked, redisstore.Options{Now: r.Now}), replica.Options{
		Replica: name, Now: r.Now, MergeEvery: time.Hour,
	})
	s.SetLevels(channelLevel(spec))
	return s
}

// pass lets time pass, in which replicas send their heartbeats.
func (r *replicas) pass(d time.Duration, alive ...*replica.Limiter) {
	for step := min(d, time.Second); d > 0; d -= step {
		r.Advance(min(d, step))
		for _, s := range alive {
			require.NoError(r.t, replica.SendHeartbeat(r.t.Context(), s))
		}
	}
}

// ask asks a replica for one unit.
func (r *replicas) ask(s storetest.Limiter, spec ratelimit.LevelSpec) store.Decision {
	r.ids++
	answer, err := s.Admit(r.t.Context(), storetest.Scope, []store.Request{
		{Request: ratelimit.Request{ID: fmt.Sprint(r.ids), Levels: channelLevel(spec)}},
	})
	require.NoError(r.t, err)
	return answer.Decisions[0]
}

// fill asks until nothing fits any more, and returns how much did.
func (r *replicas) fill(s storetest.Limiter, spec ratelimit.LevelSpec) (admitted int64) {
	for r.ask(s, spec).Outcome == store.Admitted {
		admitted++
	}
	return admitted
}

// As long as a replica with the longer window lives, no minute holds more than it allows, whoever admits.
func TestRolloutAdmitsNoMoreThanTheLongerWindow(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t)
			before, after := longer, shorter
			before.Strategy, after.Strategy = s.Strategy, s.Strategy
			old, replaced := r.start("old", before), r.start("new", after)
			var at []time.Time
			for range 150 {
				r.pass(time.Second, old, replaced)
				for n := r.fill(old, before) + r.fill(replaced, after); n > 0; n-- {
					at = append(at, r.Now())
				}
				within := int64(0)
				for i := len(at) - 1; i >= 0 && r.Now().Sub(at[i]) < time.Minute; i-- {
					within++
				}
				require.LessOrEqual(t, within, storetest.Promised(before))
			}
			require.Greater(t, len(at), 60, "the channel goes on")
		})
	}
}

// A refusal by a window of another replica names that window, and when it has room.
func TestRefusalByAWindowOfAnotherReplicaNamesThatWindow(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	old, replaced := r.start("old", longer), r.start("new", shorter)
	require.Equal(t, int64(40), r.fill(old, longer))
	r.pass(31*time.Second, old, replaced)
	for _, by := range []store.DecidedBy{store.ByRedis, store.ByClosedCache} {
		d := r.ask(replaced, shorter)
		require.Equal(t, store.Dropped, d.Outcome)
		require.Equal(t, by, d.DecidedBy)
		require.Equal(t, longer.Windows[0], d.Window)
		require.Equal(t, 29*time.Second, d.RetryAfter)
	}
	usage, err := store.UsageOf(t.Context(), replaced, storetest.Scope, channelLevel(shorter))
	require.NoError(t, err)
	require.Len(t, usage, 2)
	require.Equal(t, ratelimit.Usage{Level: "channel", Window: shorter.Windows[0]}, usage[0])
	require.Equal(t, longer.Windows[0], usage[1].Window)
	require.Equal(t, int64(40), usage[1].Used)

	require.NoError(t, old.Close(t.Context()))
	require.NoError(t, replica.SendHeartbeat(t.Context(), replaced))
	require.Equal(t, int64(20), r.fill(replaced, shorter), "the last one with the longer window is gone")
}

// A replica that died counts until its last heartbeat expires.
func TestWindowsOfADeadReplicaAreForgotten(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	old, replaced := r.start("old", longer), r.start("new", shorter)
	require.Equal(t, int64(40), r.fill(old, longer))
	r.pass(8*time.Second, replaced)
	require.True(t, replica.Widened(replaced))
	r.pass(23*time.Second, replaced)
	require.False(t, replica.Widened(replaced))
	require.Equal(t, int64(20), r.fill(replaced, shorter))
	require.Len(t, r.HGetAll(t.Context(), lua.Levels).Val(), 1)
	require.Len(t, r.HGetAll(t.Context(), lua.Texts).Val(), 1, "nothing is kept of it")
}

// A replica knows the windows of the others before it admits anything, though it sent no heartbeat yet.
func TestFirstAdmissionKnowsTheWindowsOfOtherReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	old := r.start("old", longer)
	require.Equal(t, int64(40), r.fill(old, longer))
	r.pass(31*time.Second, old)
	replaced := r.start("new", shorter)
	d := r.ask(replaced, shorter)
	require.Equal(t, store.Dropped, d.Outcome)
	require.Equal(t, longer.Windows[0], d.Window)
}

// Where Redis cannot answer the first heartbeat, nothing is admitted by half of the limits.
func TestNothingIsAdmittedBeforeTheFirstHeartbeat(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	require.NoError(t, r.Set(t.Context(), lua.Levels, "something else", 0).Err())
	replaced := r.start("new", shorter)
	_, err := replaced.Admit(t.Context(), storetest.Scope, []store.Request{
		{Request: ratelimit.Request{ID: "1", Levels: channelLevel(shorter)}},
	})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorContains(t, err, lua.Levels)
	require.NoError(t, r.Del(t.Context(), lua.Levels).Err())
	require.Equal(t, int64(20), r.fill(replaced, shorter))
}

// A reload forgets no window that another replica still counts in, and not for a moment.
func TestReloadKeepsTheLongerWindowOfOtherReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	one, two := r.start("one", longer), r.start("two", longer)
	require.Equal(t, int64(40), r.fill(one, longer))
	r.pass(31*time.Second, one, two)
	require.False(t, replica.Widened(two))
	two.SetLevels(channelLevel(shorter))
	require.True(t, replica.Widened(two), "before any request")
	require.Equal(t, store.Dropped, r.ask(two, shorter).Outcome)

	one.SetLevels(channelLevel(shorter))
	require.Eventually(t, func() bool {
		require.NoError(t, replica.SendHeartbeat(t.Context(), two))
		return !replica.Widened(two)
	}, 5*time.Second, time.Millisecond, "the other reloaded too, and announces it at once")
	require.Equal(t, int64(20), r.fill(two, shorter))
}

// A replica learns of longer windows with its next heartbeat. Of several of one length, the smallest limit counts.
func TestHeartbeatLearnsTheLongerWindowsOfOtherReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	running := r.start("running", shorter)
	require.Equal(t, int64(20), r.fill(running, shorter))
	for limit := range int64(3) {
		spec := longer
		spec.Windows = []ratelimit.Window{{Limit: 25 + 10*limit, Per: time.Minute}, {Limit: 90 - limit, Per: time.Hour}}
		require.NoError(t, replica.SendHeartbeat(t.Context(), r.start(fmt.Sprint("longer ", limit), spec)))
	}
	r.pass(31*time.Second, running) // the others are dead by then, and were alive a moment before
	require.False(t, replica.Widened(running))
	for limit := range int64(3) {
		spec := longer
		spec.Windows = []ratelimit.Window{{Limit: 25 + 10*limit, Per: time.Minute}, {Limit: 90 - limit, Per: time.Hour}}
		require.NoError(t, replica.SendHeartbeat(t.Context(), r.start(fmt.Sprint("again ", limit), spec)))
	}
	require.NoError(t, replica.SendHeartbeat(t.Context(), running))
	usage, err := store.UsageOf(t.Context(), running, storetest.Scope, channelLevel(shorter))
	require.NoError(t, err)
	windows := make([]ratelimit.Window, len(usage))
	for i, u := range usage {
		windows[i] = u.Window
	}
	require.Equal(t, []ratelimit.Window{shorter.Windows[0], {Limit: 25, Per: time.Minute}, {Limit: 88, Per: time.Hour}}, windows)
	require.Equal(t, int64(5), r.fill(running, shorter))
}

// Windows bind every value of their level, and no other level. Shadow levels and backlogs bind nobody.
func TestWindowsBindOnlyLevelsOfTheirClass(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	spec := func(name string, change func(*ratelimit.LevelSpec)) ratelimit.LevelSpec {
		spec := longer
		spec.Name = name
		change(&spec)
		return spec
	}
	own := func(t ratelimit.LevelSpec) ratelimit.Level {
		t.Windows, t.Shadow = shorter.Windows, false
		return store.LevelOf(t, storetest.Scope, "a: value")
	}
	asked := spec("category", func(*ratelimit.LevelSpec) {})
	shadow := spec("sender", func(t *ratelimit.LevelSpec) { t.Shadow = true })
	backlog := spec("backlog", func(t *ratelimit.LevelSpec) { t.Strategy.Kind = ratelimit.Backlog })
	old, replaced := r.start("old", longer), r.start("new", shorter)
	old.SetLevels([]ratelimit.Level{
		store.LevelOf(asked, storetest.Scope, ""), store.LevelOf(shadow, storetest.Scope, ""), store.LevelOf(backlog, storetest.Scope, ""),
	})
	require.NoError(t, replica.SendHeartbeat(t.Context(), old))
	other := storetest.Level(storetest.Scope, "other", "a", shorter.Windows...)
	replaced.SetLevels([]ratelimit.Level{own(asked), own(shadow), own(backlog), other})
	require.NoError(t, replica.SendHeartbeat(t.Context(), replaced))
	windows := func(level ratelimit.Level) int {
		usage, err := store.UsageOf(t.Context(), replaced, storetest.Scope, []ratelimit.Level{level})
		require.NoError(t, err)
		return len(usage)
	}
	require.Equal(t, 2, windows(own(asked)))
	for _, level := range []ratelimit.Level{own(shadow), own(backlog), other} {
		require.Equal(t, 1, windows(level), level.Name)
	}
}

// heartbeats records the texts of heartbeats.
type heartbeats struct {
	redis.Scripter
	mu    sync.Mutex
	texts []int // the length of each
}

func (c *heartbeats) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha == lua.Heartbeat.Hash() {
		c.mu.Lock()
		c.texts = append(c.texts, len(args[5].(string)))
		c.mu.Unlock()
	}
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

// Where all replicas have the same windows, a heartbeat has a digest of them and not their text. A text that Redis lost is
// sent again, and a replica of a version that announces no windows changes nothing.
func TestHeartbeatSendsWindowsOnlyWhereTheyAreMissing(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	line := &heartbeats{Scripter: client}
	one := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{Replica: "one"})
	two := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{Replica: "two"})
	alike := channelLevel(longer)
	one.SetLevels(alike)
	two.SetLevels(alike)
	require.NoError(t, client.ZAdd(t.Context(), lua.Alive, redis.Z{Score: float64(time.Now().UnixMicro()), Member: "older"}).Err())
	beat := func(s *replica.Limiter) {
		require.NoError(t, replica.SendHeartbeat(t.Context(), s))
	}
	beat(two)
	for range 3 {
		beat(one)
	}
	require.Len(t, line.texts, 3)
	require.Positive(t, line.texts[0])
	require.Equal(t, []int{0, 0}, line.texts[1:])
	require.False(t, replica.Widened(one))
	require.Equal(t, int64(3), one.Health().Replicas)

	require.NoError(t, client.Del(t.Context(), lua.Levels, lua.Texts).Err())
	beat(one)
	require.Equal(t, []int{0, line.texts[0]}, line.texts[3:], "it is missing, and sent at once")
	two.SetLevels(channelLevel(shorter))
	beat(two)
	require.True(t, replica.Widened(two))
}

// The text of windows is bounded, and what is not valid in it is left out.
func TestTextOfWindowsIsBoundedAndSafeToDecode(t *testing.T) {
	t.Parallel()
	var levels []ratelimit.Level
	for i := range 100_000 {
		levels = append(levels, store.ChannelLevel(longer, fmt.Sprint("channel ", i)))
	}
	text, leftOut := replica.TextOf(levels[:40_000])
	require.Zero(t, leftOut)
	require.Less(t, len(text), 18*40_000, "bytes of each")
	for _, level := range []ratelimit.Level{levels[0], levels[20_000], levels[39_999]} {
		require.Equal(t, longer.Windows, replica.WindowsIn(text, level))
	}
	text, leftOut = replica.TextOf(levels)
	require.LessOrEqual(t, len(text), replica.MaxText)
	require.Positive(t, leftOut)

	small, _ := replica.TextOf(levels[:3])
	rapid.Check(t, func(rt *rapid.T) {
		broken := []byte(small)
		for range rapid.IntRange(1, 4).Draw(rt, "bytes") {
			broken[rapid.IntRange(0, len(broken)-1).Draw(rt, "place")] = rapid.Byte().Draw(rt, "byte")
		}
		broken = broken[:rapid.IntRange(0, len(broken)).Draw(rt, "length")]
		for _, level := range levels[:3] {
			for _, w := range replica.WindowsIn(string(broken), level) {
				require.Positive(rt, w.Limit)
				require.GreaterOrEqual(rt, w.Per, time.Microsecond)
			}
		}
	})
}
