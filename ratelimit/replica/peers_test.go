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

// start starts a replica that was heard of nowhere yet.
func (r *replicas) start(name string, tier ratelimit.LevelSpec) *replica.Limiter {
	s := storetest.Share(r.t, redisstore.New(r.Clocked, redisstore.Options{Now: r.Now}), replica.Options{
		Replica: name, Now: r.Now, FoldEvery: time.Hour,
	})
	s.SetLevels([]ratelimit.Level{store.ChannelLevel(tier, storetest.Scope.Group)})
	return s
}

// pass lets time pass, in which the replicas go on saying that they live.
func (r *replicas) pass(d time.Duration, alive ...*replica.Limiter) {
	for step := min(d, time.Second); d > 0; d -= step {
		r.Advance(min(d, step))
		for _, s := range alive {
			require.NoError(r.t, replica.Beat(r.t.Context(), s))
		}
	}
}

// ask asks a replica for one unit.
func (r *replicas) ask(s store.Limiter, tier ratelimit.LevelSpec) store.Decision {
	r.ids++
	d, err := s.Admit(r.t.Context(), storetest.Scope, []store.Request{{ID: fmt.Sprint(r.ids), Levels: []ratelimit.Level{store.ChannelLevel(tier, storetest.Scope.Group)}}})
	require.NoError(r.t, err)
	return d[0]
}

// fill asks until nothing fits any more, and tells how much did.
func (r *replicas) fill(s store.Limiter, tier ratelimit.LevelSpec) (admitted int64) {
	for r.ask(s, tier).Outcome == store.Admitted {
		admitted++
	}
	return admitted
}

// As long as a replica with the longer window lives, no minute holds more than it allows, whoever admits.
func TestARollingChangeAdmitsNoMoreThanTheLongerWindow(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.Strategies[:7] {
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

// The window of the other replica refuses as an own one does: it is named, and tells when it has room.
func TestALongerWindowOfAnotherIsNamed(t *testing.T) {
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
	usage, err := store.UsageOf(t.Context(), replaced, storetest.Scope, []ratelimit.Level{store.ChannelLevel(shorter, storetest.Scope.Group)})
	require.NoError(t, err)
	require.Len(t, usage, 2)
	require.Equal(t, []int64{0, 40}, []int64{usage[0].Used, usage[1].Used})
	require.Equal(t, []ratelimit.Window{shorter.Windows[0], longer.Windows[0]}, []ratelimit.Window{usage[0].Window, usage[1].Window})

	require.NoError(t, old.Close(t.Context()))
	require.NoError(t, replica.Beat(t.Context(), replaced))
	require.Equal(t, int64(20), r.fill(replaced, shorter), "the last one with the longer window is gone")
}

// A replica that dies without a word is gone once its heartbeats have ended.
func TestTheWindowOfAReplicaThatDiedEnds(t *testing.T) {
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

// A replica knows what the others count in before it admits anything, though it has said nothing yet.
func TestTheFirstAdmissionKnowsTheOthers(t *testing.T) {
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

// A Redis that cannot be asked which replicas live is one that does not serve: nothing is admitted by half of the limits.
func TestNothingIsAdmittedBeforeTheOthersAreKnown(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	require.NoError(t, r.Set(t.Context(), lua.Levels, "something else", 0).Err())
	replaced := r.start("new", shorter)
	_, err := replaced.Admit(t.Context(), storetest.Scope, []store.Request{{ID: "1", Levels: []ratelimit.Level{store.ChannelLevel(shorter, storetest.Scope.Group)}}})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorContains(t, err, lua.Levels)
	require.NoError(t, r.Del(t.Context(), lua.Levels).Err())
	require.Equal(t, int64(20), r.fill(replaced, shorter))
}

// A reload forgets no window that another replica still counts in, and not for a moment.
func TestAReloadKeepsTheLongerWindowOfTheOthers(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	one, two := r.start("one", longer), r.start("two", longer)
	require.Equal(t, int64(40), r.fill(one, longer))
	r.pass(31*time.Second, one, two)
	require.False(t, replica.Widened(two))
	two.SetLevels([]ratelimit.Level{store.ChannelLevel(shorter, storetest.Scope.Group)})
	require.True(t, replica.Widened(two), "before anything was asked")
	require.Equal(t, store.Dropped, r.ask(two, shorter).Outcome)

	one.SetLevels([]ratelimit.Level{store.ChannelLevel(shorter, storetest.Scope.Group)})
	require.Eventually(t, func() bool {
		require.NoError(t, replica.Beat(t.Context(), two))
		return !replica.Widened(two)
	}, 5*time.Second, time.Millisecond, "the other reloaded too, and says so at once")
	require.Equal(t, int64(20), r.fill(two, shorter))
}

// A replica that runs learns of a longer window with its next heartbeat, and of several by the smallest limit.
func TestARunningReplicaLearnsOfLongerWindows(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	running := r.start("running", shorter)
	require.Equal(t, int64(20), r.fill(running, shorter))
	for limit := range int64(3) {
		tier := longer
		tier.Windows = []ratelimit.Window{{Limit: 25 + 10*limit, Per: time.Minute}, {Limit: 90 - limit, Per: time.Hour}}
		require.NoError(t, replica.Beat(t.Context(), r.start(fmt.Sprint("longer ", limit), tier)))
	}
	r.pass(31*time.Second, running) // the others are dead by then, and were alive a moment before
	require.False(t, replica.Widened(running))
	for limit := range int64(3) {
		tier := longer
		tier.Windows = []ratelimit.Window{{Limit: 25 + 10*limit, Per: time.Minute}, {Limit: 90 - limit, Per: time.Hour}}
		require.NoError(t, replica.Beat(t.Context(), r.start(fmt.Sprint("again ", limit), tier)))
	}
	require.NoError(t, replica.Beat(t.Context(), running))
	usage, err := store.UsageOf(t.Context(), running, storetest.Scope, []ratelimit.Level{store.ChannelLevel(shorter, storetest.Scope.Group)})
	require.NoError(t, err)
	windows := make([]ratelimit.Window, len(usage))
	for i, u := range usage {
		windows[i] = u.Window
	}
	require.Equal(t, []ratelimit.Window{shorter.Windows[0], {Limit: 25, Per: time.Minute}, {Limit: 88, Per: time.Hour}}, windows)
	require.Equal(t, int64(5), r.fill(running, shorter))
}

// Every value of an inner level has the windows of its level, and only of its own. What reports only, and what has no
// windows, binds nobody.
func TestWhatReplicasTellEachOther(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	tier := func(name string, change func(*ratelimit.LevelSpec)) ratelimit.LevelSpec {
		tier := longer
		tier.Name = name
		change(&tier)
		return tier
	}
	own := func(t ratelimit.LevelSpec) ratelimit.Level {
		t.Windows, t.Shadow = shorter.Windows, false
		return store.LevelOf(t, storetest.Scope, "a: value")
	}
	asked := tier("category", func(*ratelimit.LevelSpec) {})
	shadow := tier("sender", func(t *ratelimit.LevelSpec) { t.Shadow = true })
	backlog := tier("backlog", func(t *ratelimit.LevelSpec) { t.Strategy.Kind = ratelimit.Backlog })
	old, replaced := r.start("old", longer), r.start("new", shorter)
	old.SetLevels([]ratelimit.Level{store.LevelOf(asked, storetest.Scope, ""), store.LevelOf(shadow, storetest.Scope, ""), store.LevelOf(backlog, storetest.Scope, "")})
	require.NoError(t, replica.Beat(t.Context(), old))
	replaced.SetLevels([]ratelimit.Level{own(asked), own(shadow), own(backlog), store.NewLevel(storetest.Scope, "other", "a", shorter.Windows...)})
	require.NoError(t, replica.Beat(t.Context(), replaced))
	windows := func(level ratelimit.Level) int {
		usage, err := store.UsageOf(t.Context(), replaced, storetest.Scope, []ratelimit.Level{level})
		require.NoError(t, err)
		return len(usage)
	}
	require.Equal(t, 2, windows(own(asked)))
	for _, level := range []ratelimit.Level{own(shadow), own(backlog), store.NewLevel(storetest.Scope, "other", "a", shorter.Windows...)} {
		require.Equal(t, 1, windows(level), level.Name)
	}
}

// told counts what heartbeats say.
type told struct {
	redis.Scripter
	mu    sync.Mutex
	texts []int // the length of each
}

func (c *told) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha == lua.Heartbeat.Hash() {
		c.mu.Lock()
		c.texts = append(c.texts, len(args[5].(string)))
		c.mu.Unlock()
	}
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

// Where all replicas are alike, a heartbeat says a few bytes more and nothing else; a text that Redis lost is told again,
// and a replica of a version that says nothing of its windows changes nothing.
func TestTheOrdinaryHeartbeat(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	line := &told{Scripter: client}
	one := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{Replica: "one"})
	two := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{Replica: "two"})
	alike := []ratelimit.Level{store.ChannelLevel(longer, storetest.Scope.Group)}
	one.SetLevels(alike)
	two.SetLevels(alike)
	require.NoError(t, client.ZAdd(t.Context(), lua.Alive, redis.Z{Score: float64(time.Now().UnixMicro()), Member: "older"}).Err())
	beat := func(s *replica.Limiter) {
		require.NoError(t, replica.Beat(t.Context(), s))
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
	require.Equal(t, []int{0, line.texts[0]}, line.texts[3:], "it is missed, and told at once")
	two.SetLevels([]ratelimit.Level{store.ChannelLevel(shorter, storetest.Scope.Group)})
	beat(two)
	require.True(t, replica.Widened(two))
}

// What is told is bounded, and what makes no sense says nothing.
func TestTheTextOfManyLevels(t *testing.T) {
	t.Parallel()
	var levels []ratelimit.Level
	for i := range 100_000 {
		levels = append(levels, store.ChannelLevel(longer, fmt.Sprint("channel ", i)))
	}
	text, left := replica.TextOf(levels[:40_000])
	require.Zero(t, left)
	require.Less(t, len(text), 18*40_000, "bytes of each")
	for _, level := range []ratelimit.Level{levels[0], levels[20_000], levels[39_999]} {
		require.Equal(t, longer.Windows, replica.WindowsIn(text, level))
	}
	text, left = replica.TextOf(levels)
	require.LessOrEqual(t, len(text), replica.MaxText)
	require.Positive(t, left)

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
