package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// town is replicas that watch the same heartbeats, and share a store.
type town struct {
	t       *testing.T
	data    *memory.Data
	channel pipeline.Channel

	mu      sync.Mutex
	away    bool // the store
	notices []string
}

func newTown(t *testing.T) *town {
	t.Helper()
	return &town{t: t, data: memory.NewData(memory.DataOptions{}), channel: channel("alerts", &sink{})}
}

func (w *town) setAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *town) unavailable() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return ratelimit.ErrUnavailable
	}
	return nil
}

// resident is one replica.
type resident struct {
	store.Store
	town       *town
	heartbeats *pipeline.Heartbeats
	intake     *pipeline.Intake
	memory     *pipeline.HeartbeatMemory
	stop       func()
	cutOff     atomic.Bool // from the store
}

func (r *resident) unavailable() error {
	if r.cutOff.Load() {
		return ratelimit.ErrUnavailable
	}
	return r.town.unavailable()
}

func (r *resident) Problems(ctx context.Context, channel store.Channel, names []string) (int64, []store.Problem, error) {
	if err := r.unavailable(); err != nil {
		return 0, nil, err
	}
	return r.Store.Problems(ctx, channel, names)
}

func (r *resident) SaveProblems(
	ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (bool, error) {
	if err := r.unavailable(); err != nil {
		return false, err
	}
	return r.Store.SaveProblems(ctx, channel, changes, counts)
}

func (r *resident) Durable() bool { return true }

func (r *resident) Append(_ context.Context, _ store.Channel, id, _ string, payload []byte) error {
	r.town.mu.Lock()
	defer r.town.mu.Unlock()
	for _, notice := range r.town.notices {
		if strings.HasPrefix(notice, id+" ") {
			return nil
		}
	}
	r.town.notices = append(r.town.notices, id+" "+string(payload))
	return nil
}

// join starts a replica.
func (w *town) join(heartbeats ...pipeline.Heartbeat) *resident {
	w.t.Helper()
	r := &resident{Store: memory.New(w.data, memory.Options{}), town: w, memory: pipeline.NewHeartbeatMemory()}
	r.configure(heartbeats...)
	return r
}

// configure runs the heartbeats instead of those before.
func (r *resident) configure(heartbeats ...pipeline.Heartbeat) {
	if r.stop != nil {
		r.stop() // a second time does no harm
	}
	channels := []pipeline.Channel{r.town.channel}
	r.heartbeats = pipeline.NewHeartbeats(pipeline.HeartbeatOptions{
		Heartbeats: heartbeats, Channels: channels, Store: r, Memory: r.memory, Outboxes: []pipeline.NoticeQueue{r},
		Wake:  func(string) {},
		Admit: func(ctx context.Context, a pipeline.Arrival) (pipeline.Receipt, error) { return r.intake.Admit(ctx, a) },
	})
	r.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: r.Store, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
		Heartbeats: r.heartbeats,
	})
	ctx, cancel := context.WithCancel(r.town.t.Context())
	var all sync.WaitGroup
	all.Go(func() { r.heartbeats.Run(ctx) })
	all.Go(func() { r.lookWhenDue(ctx) })
	r.stop = func() {
		cancel()
		all.Wait()
	}
}

// lookWhenDue does what a Courier does for documents.
func (r *resident) lookWhenDue(ctx context.Context) {
	for ctx.Err() == nil {
		if r.unavailable() == nil {
			now, due, err := r.DueProblems(ctx, r.town.channel.Scope(), 100)
			if err == nil && len(due) > 0 {
				_ = r.heartbeats.Wakeup(ctx, r.town.channel.Scope(), now, due)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (r *resident) beat(name string) pipeline.HeartbeatReceipt {
	r.town.t.Helper()
	receipt, err := r.heartbeats.Beat(r.town.t.Context(), name)
	require.NoError(r.town.t, err)
	return receipt
}

func (r *resident) ledger() store.Ledger {
	r.town.t.Helper()
	report, err := r.Report(r.town.t.Context(), r.town.channel.Scope())
	require.NoError(r.town.t, err)
	return report.Ledger
}

func (r *resident) state(name string) string {
	r.town.t.Helper()
	all, err := r.heartbeats.List(r.town.t.Context())
	require.NoError(r.town.t, err)
	for _, h := range all {
		if h.Name == name {
			return h.State
		}
	}
	return ""
}

func backup(every time.Duration) pipeline.Heartbeat {
	return pipeline.Heartbeat{
		Heartbeat: problem.Heartbeat{Name: "backup", Every: every, Grace: time.Minute}, Channel: "alerts", Severity: events.Error,
		Category: "heartbeat",
	}
}

func TestMissingHeartbeatIsPostedOnceOverAllReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a, b := w.join(backup(5*time.Minute)), w.join(backup(5*time.Minute))
		time.Sleep(time.Minute)
		require.Equal(t, pipeline.HeartbeatWaiting, b.state("backup"))
		require.True(t, a.beat("backup").Durable)
		require.Equal(t, pipeline.HeartbeatOK, b.state("backup"))
		time.Sleep(6*time.Minute - time.Second)
		require.Zero(t, a.ledger().Received)
		time.Sleep(10 * time.Second)
		require.Equal(t, pipeline.HeartbeatMissing, b.state("backup"))
		require.Equal(t, int64(1), a.ledger().Admitted)
		time.Sleep(2 * time.Hour)
		require.Equal(t, int64(1), a.ledger().Received, "once, whatever happens")
		b.beat("backup")
		time.Sleep(2 * time.Second)
		require.Equal(t, pipeline.HeartbeatOK, a.state("backup"))
		require.Equal(t, int64(2), a.ledger().Admitted)
		require.Len(t, w.notices, 2)
		require.Contains(t, w.notices[0], `Heartbeat backup is missing: last seen 00:01 UTC, expected every 5 minutes`)
		require.Contains(t, w.notices[1], `Heartbeat backup is back: it was missing for 2 hours`)
		a.stop()
		b.stop()
	})
}

func TestHeartbeatThatArrivesWhileTheStoreIsAwayIsWrittenAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a, b := w.join(backup(5*time.Minute)), w.join(backup(5*time.Minute))
		time.Sleep(time.Minute)
		a.beat("backup")
		time.Sleep(4*time.Minute + 100*time.Millisecond) // between the ticks of the replicas
		w.setAway(true)
		time.Sleep(30 * time.Second)
		require.False(t, a.beat("backup").Durable)
		time.Sleep(2 * time.Minute) // beyond the time at which it would be missing
		w.setAway(false)
		time.Sleep(3 * time.Minute)
		require.Equal(t, pipeline.HeartbeatOK, b.state("backup"))
		require.Zero(t, b.ledger().Received)
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, pipeline.HeartbeatMissing, b.state("backup"), "6 minutes after the one that arrived meanwhile")
		a.stop()
		b.stop()
	})
}

func TestHeartbeatThatAnotherReplicaLearnsOfLateHasNoNewPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a, b := w.join(backup(5*time.Minute)), w.join(backup(5*time.Minute))
		time.Sleep(time.Minute + time.Second)
		a.beat("backup")
		time.Sleep(4 * time.Minute)
		w.setAway(true)
		time.Sleep(30 * time.Second)
		require.False(t, a.beat("backup").Durable)
		time.Sleep(2 * time.Minute)
		a.cutOff.Store(true)
		w.setAway(false) // the other replica reaches the store first, and gives the sender a longer time for the gap
		time.Sleep(10 * time.Second)
		a.cutOff.Store(false)
		time.Sleep(3*time.Minute + 10*time.Second)
		require.Equal(t, pipeline.HeartbeatOK, b.state("backup"))
		time.Sleep(time.Minute)
		require.Equal(t, pipeline.HeartbeatMissing, b.state("backup"), "6 minutes after the one that arrived meanwhile")
		a.stop()
		b.stop()
	})
}

func TestRestartAndOutageAreNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a := w.join(backup(5 * time.Minute))
		time.Sleep(time.Minute)
		a.beat("backup")
		a.stop()
		time.Sleep(time.Hour) // no replica runs
		a = w.join(backup(5 * time.Minute))
		time.Sleep(5 * time.Minute)
		a.beat("backup")
		time.Sleep(5*time.Minute - 100*time.Millisecond)
		a.stop() // a restart that is shorter than a gap, while the sender calls
		a = w.join(backup(5 * time.Minute))
		time.Sleep(5 * time.Minute)
		a.beat("backup")
		require.Zero(t, a.ledger().Received)
		a.stop()
	})
}

func TestLostDataIsNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a := w.join(backup(5 * time.Minute))
		time.Sleep(time.Minute)
		a.beat("backup")
		time.Sleep(3 * time.Minute)
		synctest.Wait() // nobody reads it now
		w.data = memory.NewData(memory.DataOptions{})
		a.Store = memory.New(w.data, memory.Options{})
		w.setAway(false) // who reads it next sees the new one
		time.Sleep(2*time.Minute + 30*time.Second)
		require.Zero(t, a.ledger().Received)
		require.Equal(t, pipeline.HeartbeatOK, a.state("backup"), "the process remembers the last one")
		time.Sleep(time.Minute)
		require.Equal(t, pipeline.HeartbeatMissing, a.state("backup"))
		a.stop()
	})
}

func TestMatchingEventsAreHeartbeatsAndMuted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		watchdog := backup(5 * time.Minute)
		name := "Watchdog"
		matcher, err := events.Matcher{Field: "label.alertname", Is: &name}.Compile()
		require.NoError(t, err)
		watchdog.Match = []events.CompiledMatcher{matcher}
		a := w.join(watchdog)
		alert := events.Event{Title: "x", Category: "x", Labels: map[string]string{"alertname": name}, Status: events.Firing}
		arrive := func(e events.Event, test bool) pipeline.Receipt {
			receipt, err := a.intake.Admit(t.Context(), pipeline.Arrival{Channel: "alerts", Events: []events.Event{e}, Test: test})
			require.NoError(t, err)
			return receipt
		}
		for range 5 {
			time.Sleep(4 * time.Minute)
			receipt := arrive(alert, false)
			require.Equal(t, 1, receipt.Muted)
			require.Equal(t, "heartbeat backup", receipt.Events[0].By)
		}
		require.Equal(t, int64(5), a.ledger().Muted)
		require.Equal(t, pipeline.HeartbeatOK, a.state("backup"))
		for range 3 {
			time.Sleep(4 * time.Minute)
			alert.Status = events.Resolved
			require.Equal(t, 1, arrive(alert, false).Muted, "the resolve is no heartbeat")
		}
		require.Equal(t, pipeline.HeartbeatMissing, a.state("backup"))
		other := events.Event{Title: "y", Category: "y", Source: "heartbeat", Labels: map[string]string{"alertname": name}}
		require.Equal(t, 1, arrive(other, false).Admitted, "what the relay posts about heartbeats is none")
		a.stop()
	})
}

func TestReloadAddsChangesAndRemovesHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a := w.join(backup(time.Hour))
		time.Sleep(30 * time.Minute)
		a.configure(backup(5 * time.Minute))
		time.Sleep(5 * time.Minute)
		require.Zero(t, a.ledger().Received, "shorter terms begin with a new period")
		time.Sleep(70 * time.Second)
		require.Equal(t, int64(1), a.ledger().Received)
		a.configure()
		_, err := a.heartbeats.Beat(t.Context(), "backup")
		require.ErrorIs(t, err, pipeline.ErrUnknownHeartbeat)
		time.Sleep(48 * time.Hour)
		require.Equal(t, int64(1), a.ledger().Received)
		a.configure(backup(5 * time.Minute))
		time.Sleep(time.Minute)
		require.Equal(t, pipeline.HeartbeatWaiting, a.state("backup"), "it was forgotten")
		a.stop()
	})
}

func TestNewsThatCannotBePostedArePostedByAnotherReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		a := w.join(backup(5 * time.Minute))
		b := w.join(backup(5 * time.Minute))
		time.Sleep(5*time.Minute + 30*time.Second)
		a.stop()
		b.stop()
		b.Store = failing{b.Store, errors.New("broken")}
		b.configure(backup(5 * time.Minute))
		time.Sleep(time.Minute)
		require.Equal(t, pipeline.HeartbeatMissing, b.state("backup"))
		require.Zero(t, b.ledger().Received)
		a = w.join(backup(5 * time.Minute))
		time.Sleep(5 * time.Minute) // both try every 5 s, and either may be first
		require.Equal(t, int64(1), a.ledger().Received)
		a.stop()
		b.stop()
	})
}

// failing is a store that admits nothing.
type failing struct {
	store.Store
	err error
}

func (f failing) Admit(context.Context, store.Channel, []store.Request) (store.Answer, error) {
	return store.Answer{}, f.err
}
