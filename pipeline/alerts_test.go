package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
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

// alertDocuments are documents that may be unavailable, and that others may change before a change of them is saved.
type alertDocuments struct {
	*memory.Store

	away       bool
	beforeSave func()
}

func (d *alertDocuments) Problems(ctx context.Context, ch store.Channel, names []string) (int64, []store.Problem, error) {
	if d.away {
		return 0, nil, ratelimit.ErrUnavailable
	}
	return d.Store.Problems(ctx, ch, names)
}

func (d *alertDocuments) SaveProblems(
	ctx context.Context, ch store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (bool, error) {
	if before := d.beforeSave; before != nil {
		d.beforeSave = nil
		before()
	}
	if d.away {
		return false, ratelimit.ErrUnavailable
	}
	return d.Store.SaveProblems(ctx, ch, changes, counts)
}

// listener is a Silencer that keeps the ids of the events that an intake gets.
type listener struct {
	mu    sync.Mutex
	ids   []string
	mutes bool
}

func (l *listener) Mutes(e *events.Event) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, e.ID)
	if l.mutes {
		return "s1"
	}
	return ""
}

// heard returns what it got since the last call, without repeats of the last one.
func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Compact(l.ids)
	l.ids = nil
	return all
}

// alertBundle is replicas that share the documents of channel a.
type alertBundle struct {
	documents *alertDocuments
	replicas  []*pipeline.Alerts
	listener  *listener
	memory    *pipeline.AlertMemory
}

func setupAlerts(replicas int) *alertBundle {
	shared := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	b := &alertBundle{documents: &alertDocuments{Store: shared}, listener: &listener{}, memory: pipeline.NewAlertMemory()}
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: shared, Channels: []pipeline.Channel{channel("a", &sink{})}, Silences: b.listener,
		Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
	})
	memories := []*pipeline.AlertMemory{b.memory, pipeline.NewAlertMemory(), pipeline.NewAlertMemory()}
	for i := range replicas {
		b.replicas = append(b.replicas, pipeline.NewAlerts(pipeline.AlertsOptions{
			Intake: intake, Documents: b.documents, Memory: memories[i],
		}))
	}
	return b
}

// post posts alerts with these fingerprints that began at start and end then.
func (b *alertBundle) post(t *testing.T, replica int, start time.Time, end time.Duration, fingerprints ...string) {
	t.Helper()
	arrival := pipeline.Arrival{Channel: "a", Sender: "prometheus"}
	var posted []problem.Alert
	for _, f := range fingerprints {
		e := events.Event{ID: f + "!", Fingerprint: f, Source: "alertmanager", Category: "c", Title: "x", StartedAt: start, Status: events.Firing}
		arrival.Events = append(arrival.Events, e)
		posted = append(posted, problem.Alert{Event: e, Sender: "prometheus", EndsAt: time.Now().Add(end)})
	}
	require.NoError(t, b.replicas[replica].Post(t.Context(), arrival, posted))
}

// wake lets a replica look at the documents that are due, until there are none, as a courier does.
func (b *alertBundle) wake(t *testing.T, replica int) {
	t.Helper()
	scope := store.Channel{Group: "a", Name: "a"}
	for range 5 {
		now, due, err := b.documents.DueProblems(t.Context(), scope, 100)
		require.NoError(t, err)
		if len(due) == 0 {
			return
		}
		require.NoError(t, b.replicas[replica].Expire(t.Context(), scope, now, due))
	}
}

func (b *alertBundle) firing(t *testing.T) (fingerprints []string) {
	t.Helper()
	_, all, err := b.replicas[0].List(t.Context(), "a")
	require.NoError(t, err)
	for _, alert := range all {
		fingerprints = append(fingerprints, alert.Event.Fingerprint)
	}
	return fingerprints
}

// eventID returns the id of an event of an alert that began at start.
func eventID(fingerprint, status string, start time.Time) string {
	return fingerprint + ":" + status + ":" + start.UTC().Format(time.RFC3339Nano)
}

func TestPostedAlertIsOneFiringAndOneResolve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupAlerts(2)
		start := time.Now()
		for i := range 200 { // more than three hours: the limiter has forgotten the id
			b.post(t, i%2, start, 4*time.Minute, "x", "y")
			time.Sleep(time.Minute)
			b.wake(t, i%2)
		}
		require.Equal(t, []string{"x", "y"}, b.firing(t))
		b.post(t, 0, start, -time.Second, "x")
		b.post(t, 1, start, -time.Minute, "x")
		require.Equal(t, []string{"y"}, b.firing(t))
		require.Equal(t, []string{
			eventID("x", "firing", start), eventID("y", "firing", start), eventID("x", "resolved", start),
		}, b.listener.heard())
		time.Sleep(3 * time.Minute)
		b.wake(t, 1)
		b.wake(t, 0)
		require.Equal(t, []string{eventID("y", "resolved", start)}, b.listener.heard(), "nobody posted it")
		report, err := b.documents.Report(t.Context(), store.Channel{Group: "a", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, int64(4), report.Ledger.Received)
		require.Equal(t, int64(4), report.Ledger.Admitted)
	})
}

func TestMutedAlertFiresWhenNothingMutesItAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupAlerts(1)
		start := time.Now()
		b.listener.mutes = true
		for range 5 {
			b.post(t, 0, start, 4*time.Minute, "x")
			time.Sleep(time.Minute)
		}
		report, err := b.documents.Report(t.Context(), store.Channel{Group: "a", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, int64(1), report.Ledger.Muted, "counted once")
		b.listener.mutes = false
		b.listener.heard()
		b.post(t, 0, start, 4*time.Minute, "x")
		b.post(t, 0, start, 4*time.Minute, "x")
		require.Equal(t, []string{eventID("x", "firing", start)}, b.listener.heard())
		report, err = b.documents.Report(t.Context(), store.Channel{Group: "a", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, int64(1), report.Ledger.Admitted)
	})
}

// What a replica knows is enough to tell repeats from news, as long as it runs.
func TestPostsWhileStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupAlerts(2)
		start := time.Now()
		b.post(t, 0, start, 4*time.Minute, "x")
		require.Len(t, b.listener.heard(), 1)
		b.documents.away = true
		b.post(t, 0, start, 4*time.Minute, "x", "new")
		b.post(t, 0, start, 4*time.Minute, "x", "new")
		require.Equal(t, []string{eventID("new", "firing", start)}, b.listener.heard())
		time.Sleep(time.Minute)
		b.post(t, 0, start, -time.Second, "new")
		require.Equal(t, []string{eventID("new", "resolved", start)}, b.listener.heard())
		b.post(t, 1, start, 4*time.Minute, "x")
		require.Equal(t, []string{eventID("x", "firing", start)}, b.listener.heard(), "the other replica does not know it; the id tells")
		time.Sleep(5 * time.Minute)
		b.documents.away = false
		b.memory.Interrupt()
		time.Sleep(time.Second)
		b.wake(t, 0)
		require.Empty(t, b.listener.heard(), "posts may have been lost")
		b.post(t, 0, start, 4*time.Minute, "x")
		time.Sleep(time.Minute)
		b.wake(t, 0)
		require.Empty(t, b.listener.heard())
		require.Equal(t, []string{"x"}, b.firing(t))
	})
}

// The limiter forgets ids after an hour, so that they do not suffice to tell repeats from news.
func TestAlertWhoseDocumentIsLostDoesNotFireAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupAlerts(1)
		start := time.Now()
		b.post(t, 0, start, 4*time.Minute, "x")
		require.Len(t, b.listener.heard(), 1)
		b.documents.Store = memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
		time.Sleep(time.Minute)
		b.post(t, 0, start, 4*time.Minute, "x")
		require.Empty(t, b.listener.heard())
		require.Equal(t, []string{"x"}, b.firing(t), "it has a document again")
	})
}

func TestPostFailsIfItsEventsCannotBeStored(t *testing.T) {
	t.Parallel()
	limiter := &failingLimiter{Store: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), calls: 1}
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: []pipeline.Channel{channel("a", &sink{})}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(string) {},
	})
	alerts := pipeline.NewAlerts(pipeline.AlertsOptions{Intake: intake, Documents: limiter.Store})
	e := events.Event{Fingerprint: "x", Title: "x", Category: "c", StartedAt: time.Now()}
	err := alerts.Post(t.Context(), pipeline.Arrival{Channel: "a", Events: []events.Event{e}},
		[]problem.Alert{{Event: e, EndsAt: time.Now().Add(time.Hour)}})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	_, all, err := alerts.List(t.Context(), "a")
	require.NoError(t, err)
	require.Empty(t, all, "the next post is the firing")
	require.ErrorIs(t, alerts.Post(t.Context(), pipeline.Arrival{Channel: "nowhere"}, nil), pipeline.ErrUnknownChannel)
	_, _, err = alerts.List(t.Context(), "nowhere")
	require.ErrorIs(t, err, pipeline.ErrUnknownChannel)
}

// An alert is posted at the instant in which it ends on another replica: whoever comes first, what is passed on last is what holds.
func TestAlertThatIsPostedWhileItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for step := range 4 { // at which save the post comes
			b := setupAlerts(2)
			start := time.Now()
			b.post(t, 0, start, time.Minute, "x")
			b.listener.heard()
			time.Sleep(time.Minute)
			scope := store.Channel{Group: "a", Name: "a"}
			for i := range 4 {
				now, due, err := b.documents.DueProblems(t.Context(), scope, 100)
				require.NoError(t, err)
				if i == step {
					b.documents.beforeSave = func() { b.post(t, 1, start, time.Hour, "x") }
				}
				if len(due) > 0 {
					require.NoError(t, b.replicas[0].Expire(t.Context(), scope, now, due))
				}
			}
			if b.documents.beforeSave != nil {
				b.documents.beforeSave = nil
				b.post(t, 1, start, time.Hour, "x")
			}
			require.Equal(t, []string{"x"}, b.firing(t))
			heard := b.listener.heard()
			if step == 0 {
				require.Empty(t, heard, "it did not end")
				continue
			}
			require.Equal(t, eventID("x", "firing", start)+"#1", heard[len(heard)-1], "step %d: %v", step, heard)
			require.Contains(t, heard, eventID("x", "resolved", start))
		}
	})
}

// Replicas take in the posts of senders, and look at what is due, in any order and interleaved: what is admitted alternates for each
// alert between firing and resolve.
func TestRandomHistoriesOfPostedAlerts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			b := setupAlerts(3)
			start := map[string]time.Time{}
			post := func() {
				f := fmt.Sprint("f", r.IntN(3))
				end := time.Duration(1+r.IntN(240)) * time.Second
				if start[f].IsZero() {
					start[f] = time.Now()
				} else if r.IntN(4) == 0 {
					end = 0
				}
				b.post(t, r.IntN(3), start[f], end, f)
				if end == 0 {
					delete(start, f)
				}
			}
			for range 300 {
				time.Sleep(time.Duration(1+r.IntN(60)) * time.Second)
				if r.IntN(5) == 0 {
					b.documents.beforeSave = post
				}
				if r.IntN(3) == 0 {
					b.wake(t, r.IntN(3))
				} else {
					post()
				}
			}
			b.documents.beforeSave = nil
			time.Sleep(time.Hour)
			b.wake(t, 0)
			require.Empty(t, b.firing(t))
			last := map[string]string{}
			seen := map[string]bool{}
			for _, id := range b.listener.heard() {
				if seen[id] { // a duplicate
					continue
				}
				seen[id] = true
				fingerprint, status := id[:2], id[3:9]
				require.False(t, status == "firing" && last[fingerprint] == "firing", "%d: %s %v", seed, id, seen)
				last[fingerprint] = status
			}
			for fingerprint, status := range last {
				require.Equal(t, "resolv", status, fingerprint)
			}
		})
	}
}

var errAlerts = errors.New("broken")

// brokenDocuments fail to list.
type brokenDocuments struct{ *memory.Store }

func (brokenDocuments) ListProblems(context.Context, store.Channel, string, string, int) (int64, []store.Problem, error) {
	return 0, nil, errAlerts
}

func TestListOfAlertsFailsWithTheStore(t *testing.T) {
	t.Parallel()
	b := setupAlerts(0)
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: b.documents.Store, Channels: []pipeline.Channel{channel("a", &sink{})}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(string) {},
	})
	alerts := pipeline.NewAlerts(pipeline.AlertsOptions{Intake: intake, Documents: brokenDocuments{b.documents.Store}})
	_, _, err := alerts.List(t.Context(), "a")
	require.ErrorIs(t, err, errAlerts)
}
