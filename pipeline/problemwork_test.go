package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// documented is a pipeline whose courier looks at documents, and what it handed to the handler of the owner "p".
type documented struct {
	bundle
	store store.Store
	seen  []string
}

// withDocuments makes one. handle may be nil.
func withDocuments(ch pipeline.Channel, only store.Channel, handle pipeline.ProblemHandler) *documented {
	d := &documented{bundle: setup(nil, ch)}
	d.store = memory.New(d.bundle.store, memory.Options{Options: store.Options{Owner: "me"}})
	observe := func(ctx context.Context, channel store.Channel, now int64, due []store.Problem) error {
		for _, p := range due {
			d.seen = append(d.seen, channel.Name+" "+p.Name)
		}
		return handle(ctx, channel, now, due)
	}
	d.courierOf(func(o *pipeline.CourierOptions) {
		o.Problems = pipeline.ProblemWork{
			Queue: d.store, Handlers: map[string]pipeline.ProblemHandler{"p": observe}, Channels: []store.Channel{only},
		}
	}, ch).due = func(work []store.Work) ([]store.Work, error) { return work, nil }
	return d
}

// save saves a new document that is due now.
func (d *documented) save(t *testing.T, channel store.Channel, name string) {
	t.Helper()
	saved, err := d.store.SaveProblems(t.Context(), channel, []store.ProblemChange{
		{Name: name, Data: []byte("x"), Wake: time.Now().UnixMicro(), Keep: time.Hour},
	}, store.ProblemCounts{})
	require.NoError(t, err)
	require.True(t, saved)
}

// forget deletes documents.
func (d *documented) forget(ctx context.Context, channel store.Channel, due []store.Problem) error {
	for _, p := range due {
		changes := []store.ProblemChange{{Name: p.Name, Version: p.Version}}
		if _, err := d.store.SaveProblems(ctx, channel, changes, store.ProblemCounts{}); err != nil {
			return err //nolint:wrapcheck // there is none
		}
	}
	return nil
}

func TestDueDocumentsReachTheHandlerOfTheirOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch, only := channel("a", &sink{}), store.Channel{Name: "~only"}
		var d *documented
		d = withDocuments(ch, only, func(ctx context.Context, channel store.Channel, now int64, due []store.Problem) error {
			require.LessOrEqual(t, due[0].Wake, now)
			return d.forget(ctx, channel, due)
		})
		d.save(t, ch.Scope(), "p/1")
		d.save(t, ch.Scope(), "other/1")
		d.save(t, only, "p/2")
		d.run(t, 10*time.Second)
		require.ElementsMatch(t, []string{"a p/1", "~only p/2"}, d.seen, "each once")
	})
}

func TestDocumentThatItsHandlerLeavesComesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch, failing := channel("a", &sink{}), true
		var d *documented
		d = withDocuments(ch, ch.Scope(), func(ctx context.Context, channel store.Channel, _ int64, due []store.Problem) error {
			if failing {
				failing = false
				return errors.New("not now")
			}
			return d.forget(ctx, channel, due)
		})
		d.save(t, ch.Scope(), "p/1")
		d.run(t, 3*time.Second)
		require.Equal(t, []string{"a p/1", "a p/1"}, d.seen)
		require.Contains(t, d.log.String(), "documents wait")
	})
}

// The instance is made, and its document lost from the list of what is due, after the courier started.
func TestLostDocumentsOfInstancesAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(nil, channel("a", to))
		engine := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
		holds := template(10, to)
		holds.Make = func(value string) pipeline.Channel { return holding("team-"+value, to) }
		registry := pipeline.NewRegistry(pipeline.RegistryOptions{Store: engine})
		a := channel("a", to)
		rules, err := events.NewRules([]events.Rule{{Name: "teams", Set: events.Changes{Channel: "team-{{team}}"}}}, nil)
		require.NoError(t, err)
		a.Rules = rules
		channels := []pipeline.Channel{a}
		instances := pipeline.NewInstances([]pipeline.Template{holds}, channels, registry, nil)
		intake := pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: engine, Channels: channels, Instances: instances, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
			Wake: func(name string) { b.courier.Wake(name) }, Problems: engine,
		})
		b.courierOf(func(o *pipeline.CourierOptions) {
			o.Problems, o.Instances = intake.ProblemWork(engine), instances
		}, channels...)
		time.AfterFunc(10*time.Second, func() {
			_, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Events: []events.Event{{
				ID: "1", Category: "c", Severity: events.Error, Title: "held", Fingerprint: "f", Status: events.Firing,
				Labels: map[string]string{"team": "x"},
			}}})
			require.NoError(t, err)
		})
		b.run(t, 20*time.Minute)
		require.Equal(t, []string{"🟠 *held*"}, to.posted())
	})
}
