package ratelimit_test

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
)

// The two configurations of a rolling change.
var (
	longer  = ratelimit.Tier{Name: "channel", Windows: []ratelimit.Window{{Limit: 40, Per: time.Minute}}}
	shorter = ratelimit.Tier{Name: "channel", Windows: []ratelimit.Window{{Limit: 20, Per: 30 * time.Second}}}
)

// replicas share one Redis, and a clock that the test moves.
type replicas struct {
	*redistest.Clocked
	t   *testing.T
	ids int
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	return &replicas{Clocked: redistest.NewClocked(t, redistest.Start(t).Client(), start), t: t}
}

// start starts a replica that was heard of nowhere yet.
func (r *replicas) start(name string, tier ratelimit.Tier) *ratelimit.Shared {
	s := share(r.t, ratelimit.NewRedis(r.Clocked, ratelimit.RedisOptions{Now: r.Now}), ratelimit.SharedOptions{
		Replica: name, Now: r.Now, FoldEvery: time.Hour,
	})
	s.SetLevels([]ratelimit.Level{ratelimit.ChannelLevel(tier, scope.Group)})
	return s
}

// pass lets time pass, in which the replicas go on saying that they live.
func (r *replicas) pass(d time.Duration, alive ...*ratelimit.Shared) {
	for step := min(d, time.Second); d > 0; d -= step {
		r.Advance(min(d, step))
		for _, s := range alive {
			require.NoError(r.t, ratelimit.Beat(r.t.Context(), s))
		}
	}
}

// ask asks a replica for one unit.
func (r *replicas) ask(s ratelimit.Limiter, tier ratelimit.Tier) ratelimit.Decision {
	r.ids++
	d, err := s.Admit(r.t.Context(), scope, []ratelimit.Request{{ID: fmt.Sprint(r.ids), Levels: []ratelimit.Level{ratelimit.ChannelLevel(tier, scope.Group)}}})
	require.NoError(r.t, err)
	return d[0]
}

// fill asks until nothing fits any more, and tells how much did.
func (r *replicas) fill(s ratelimit.Limiter, tier ratelimit.Tier) (admitted int64) {
	for r.ask(s, tier).Outcome == ratelimit.Admitted {
		admitted++
	}
	return admitted
}

// As long as a replica with the longer window lives, no minute holds more than it allows, whoever admits.
func TestARollingChangeAdmitsNoMoreThanTheLongerWindow(t *testing.T) {
	t.Parallel()
	for _, s := range strategies[:7] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t)
			before, after := longer, shorter
			before.Strategy, after.Strategy = s.strategy, s.strategy
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
				require.LessOrEqual(t, within, promised(before))
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
	for _, by := range []ratelimit.DecidedBy{ratelimit.ByRedis, ratelimit.ByClosedCache} {
		d := r.ask(replaced, shorter)
		require.Equal(t, ratelimit.Dropped, d.Outcome)
		require.Equal(t, by, d.DecidedBy)
		require.Equal(t, longer.Windows[0], d.Window)
		require.Equal(t, 29*time.Second, d.RetryAfter)
	}
	usage, err := ratelimit.UsageOf(t.Context(), replaced, scope, []ratelimit.Level{ratelimit.ChannelLevel(shorter, scope.Group)})
	require.NoError(t, err)
	require.Len(t, usage, 2)
	require.Equal(t, []int64{0, 40}, []int64{usage[0].Used, usage[1].Used})
	require.Equal(t, []ratelimit.Window{shorter.Windows[0], longer.Windows[0]}, []ratelimit.Window{usage[0].Window, usage[1].Window})

	require.NoError(t, old.Close(t.Context()))
	require.NoError(t, ratelimit.Beat(t.Context(), replaced))
	require.Equal(t, int64(20), r.fill(replaced, shorter), "the last one with the longer window is gone")
}

// A replica that dies without a word is gone once its heartbeats have ended.
func TestTheWindowOfAReplicaThatDiedEnds(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	old, replaced := r.start("old", longer), r.start("new", shorter)
	require.Equal(t, int64(40), r.fill(old, longer))
	r.pass(8*time.Second, replaced)
	require.True(t, ratelimit.Widened(replaced))
	r.pass(23*time.Second, replaced)
	require.False(t, ratelimit.Widened(replaced))
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
	require.Equal(t, ratelimit.Dropped, d.Outcome)
	require.Equal(t, longer.Windows[0], d.Window)
}

// A Redis that cannot be asked which replicas live is one that does not serve: nothing is admitted by half of the limits.
func TestNothingIsAdmittedBeforeTheOthersAreKnown(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	require.NoError(t, r.Set(t.Context(), lua.Levels, "something else", 0).Err())
	replaced := r.start("new", shorter)
	_, err := replaced.Admit(t.Context(), scope, []ratelimit.Request{{ID: "1", Levels: []ratelimit.Level{ratelimit.ChannelLevel(shorter, scope.Group)}}})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
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
	require.False(t, ratelimit.Widened(two))
	two.SetLevels([]ratelimit.Level{ratelimit.ChannelLevel(shorter, scope.Group)})
	require.True(t, ratelimit.Widened(two), "before anything was asked")
	require.Equal(t, ratelimit.Dropped, r.ask(two, shorter).Outcome)

	one.SetLevels([]ratelimit.Level{ratelimit.ChannelLevel(shorter, scope.Group)})
	require.Eventually(t, func() bool {
		require.NoError(t, ratelimit.Beat(t.Context(), two))
		return !ratelimit.Widened(two)
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
		require.NoError(t, ratelimit.Beat(t.Context(), r.start(fmt.Sprint("longer ", limit), tier)))
	}
	r.pass(31*time.Second, running) // the others are dead by then, and were alive a moment before
	require.False(t, ratelimit.Widened(running))
	for limit := range int64(3) {
		tier := longer
		tier.Windows = []ratelimit.Window{{Limit: 25 + 10*limit, Per: time.Minute}, {Limit: 90 - limit, Per: time.Hour}}
		require.NoError(t, ratelimit.Beat(t.Context(), r.start(fmt.Sprint("again ", limit), tier)))
	}
	require.NoError(t, ratelimit.Beat(t.Context(), running))
	usage, err := ratelimit.UsageOf(t.Context(), running, scope, []ratelimit.Level{ratelimit.ChannelLevel(shorter, scope.Group)})
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
	tier := func(name string, change func(*ratelimit.Tier)) ratelimit.Tier {
		tier := longer
		tier.Name = name
		change(&tier)
		return tier
	}
	own := func(t ratelimit.Tier) ratelimit.Level {
		t.Windows, t.Shadow = shorter.Windows, false
		return ratelimit.LevelOf(t, scope, "a: value")
	}
	asked := tier("category", func(*ratelimit.Tier) {})
	shadow := tier("sender", func(t *ratelimit.Tier) { t.Shadow = true })
	backlog := tier("backlog", func(t *ratelimit.Tier) { t.Strategy.Kind = ratelimit.Backlog })
	old, replaced := r.start("old", longer), r.start("new", shorter)
	old.SetLevels([]ratelimit.Level{ratelimit.LevelOf(asked, scope, ""), ratelimit.LevelOf(shadow, scope, ""), ratelimit.LevelOf(backlog, scope, "")})
	require.NoError(t, ratelimit.Beat(t.Context(), old))
	replaced.SetLevels([]ratelimit.Level{own(asked), own(shadow), own(backlog), ratelimit.Inner(scope, "other", "a", shorter.Windows...)})
	require.NoError(t, ratelimit.Beat(t.Context(), replaced))
	windows := func(level ratelimit.Level) int {
		usage, err := ratelimit.UsageOf(t.Context(), replaced, scope, []ratelimit.Level{level})
		require.NoError(t, err)
		return len(usage)
	}
	require.Equal(t, 2, windows(own(asked)))
	for _, level := range []ratelimit.Level{own(shadow), own(backlog), ratelimit.Inner(scope, "other", "a", shorter.Windows...)} {
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
	one := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{Replica: "one"})
	two := share(t, ratelimit.NewRedis(client, ratelimit.RedisOptions{}), ratelimit.SharedOptions{Replica: "two"})
	alike := []ratelimit.Level{ratelimit.ChannelLevel(longer, scope.Group)}
	one.SetLevels(alike)
	two.SetLevels(alike)
	require.NoError(t, client.ZAdd(t.Context(), lua.Alive, redis.Z{Score: float64(time.Now().UnixMicro()), Member: "older"}).Err())
	beat := func(s *ratelimit.Shared) {
		require.NoError(t, ratelimit.Beat(t.Context(), s))
	}
	beat(two)
	for range 3 {
		beat(one)
	}
	require.Len(t, line.texts, 3)
	require.Positive(t, line.texts[0])
	require.Equal(t, []int{0, 0}, line.texts[1:])
	require.False(t, ratelimit.Widened(one))
	require.Equal(t, int64(3), one.Health().Replicas)

	require.NoError(t, client.Del(t.Context(), lua.Levels, lua.Texts).Err())
	beat(one)
	require.Equal(t, []int{0, line.texts[0]}, line.texts[3:], "it is missed, and told at once")
	two.SetLevels([]ratelimit.Level{ratelimit.ChannelLevel(shorter, scope.Group)})
	beat(two)
	require.True(t, ratelimit.Widened(two))
}

// What is told is bounded, and what makes no sense says nothing.
func TestTheTextOfManyLevels(t *testing.T) {
	t.Parallel()
	var levels []ratelimit.Level
	for i := range 100_000 {
		levels = append(levels, ratelimit.ChannelLevel(longer, fmt.Sprint("channel ", i)))
	}
	text, left := ratelimit.TextOf(levels[:40_000])
	require.Zero(t, left)
	require.Less(t, len(text), 18*40_000, "bytes of each")
	for _, level := range []ratelimit.Level{levels[0], levels[20_000], levels[39_999]} {
		require.Equal(t, longer.Windows, ratelimit.WindowsIn(text, level))
	}
	text, left = ratelimit.TextOf(levels)
	require.LessOrEqual(t, len(text), ratelimit.MaxText)
	require.Positive(t, left)

	small, _ := ratelimit.TextOf(levels[:3])
	rapid.Check(t, func(rt *rapid.T) {
		broken := []byte(small)
		for range rapid.IntRange(1, 4).Draw(rt, "bytes") {
			broken[rapid.IntRange(0, len(broken)-1).Draw(rt, "place")] = rapid.Byte().Draw(rt, "byte")
		}
		broken = broken[:rapid.IntRange(0, len(broken)).Draw(rt, "length")]
		for _, level := range levels[:3] {
			for _, w := range ratelimit.WindowsIn(string(broken), level) {
				require.Positive(rt, w.Limit)
				require.GreaterOrEqual(rt, w.Per, time.Microsecond)
			}
		}
	})
}
