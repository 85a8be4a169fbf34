package pipeline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// setupAlertsWith returns one replica whose Intake has further options.
func setupAlertsWith(change func(o *pipeline.IntakeOptions, s *memory.Store)) *alertBundle {
	shared := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	b := &alertBundle{documents: &alertDocuments{Store: shared}, memory: pipeline.NewAlertMemory()}
	opts := pipeline.IntakeOptions{
		Limiter: shared, Channels: []pipeline.Channel{channel("a", &sink{})}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(string) {},
	}
	change(&opts, shared)
	b.replicas = []*pipeline.Alerts{
		pipeline.NewAlerts(pipeline.AlertsOptions{Intake: pipeline.NewIntake(opts), Documents: b.documents, Memory: b.memory}),
	}
	return b
}

// postEvent posts an event of an alert that fires for five minutes.
func (b *alertBundle) postEvent(t *testing.T, e events.Event) {
	t.Helper()
	arrival := pipeline.Arrival{Channel: "a", Sender: "prometheus", Events: []events.Event{e}}
	posted := []problem.Alert{{
		Event: e, Sender: "prometheus", Annotations: e.Annotations, EndsAt: time.Now().Add(5 * time.Minute),
	}}
	require.NoError(t, b.replicas[0].Post(t.Context(), arrival, posted))
}

func (b *alertBundle) ledger(t *testing.T, ch store.Channel) store.Ledger {
	t.Helper()
	report, err := b.documents.Report(t.Context(), ch)
	require.NoError(t, err)
	return report.Ledger
}

// scopeA is the scope of channel a.
var scopeA = store.Channel{Group: "a", Name: "a"}

func TestEachPostOfAnAlertIsAHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		name := "Watchdog"
		matcher, err := events.Matcher{Field: "label.alertname", Is: &name}.Compile()
		require.NoError(t, err)
		watchdog := pipeline.Heartbeat{
			Heartbeat: problem.Heartbeat{Name: "watchdog", Every: 2 * time.Minute, Grace: time.Minute}, Channel: "a",
			Severity: events.Critical, Category: "heartbeat", Match: []events.CompiledMatcher{matcher},
		}
		var heartbeats *pipeline.Heartbeats
		b := setupAlertsWith(func(o *pipeline.IntakeOptions, s *memory.Store) {
			heartbeats = pipeline.NewHeartbeats(pipeline.HeartbeatOptions{
				Heartbeats: []pipeline.Heartbeat{watchdog}, Channels: o.Channels, Store: s, Memory: pipeline.NewHeartbeatMemory(),
				Admit: func(context.Context, pipeline.Arrival) (pipeline.Receipt, error) {
					return pipeline.Receipt{Events: make([]pipeline.EventReceipt, 1)}, nil
				},
				Wake: func(string) {},
			})
			o.Heartbeats = heartbeats
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { heartbeats.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		alert := events.Event{
			Fingerprint: "w", Source: "alertmanager", Category: name, Labels: map[string]string{"alertname": name}, StartedAt: time.Now(),
		}
		time.Sleep(10 * time.Second)
		for range 20 {
			b.postEvent(t, alert)
			time.Sleep(time.Minute)
		}
		listed, err := heartbeats.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, pipeline.HeartbeatOK, listed[0].State)
		require.Equal(t, int64(1), b.ledger(t, scopeA).Muted, "repeats are not counted")
	})
}

func TestEachPostOfAnAlertKeepsTheSourceOfAnInhibition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := nodeDown()[0]
		down.SourceTTL = 10 * time.Minute
		inhibition, err := down.Compile()
		require.NoError(t, err)
		b := setupAlertsWith(func(o *pipeline.IntakeOptions, s *memory.Store) {
			o.Problems, o.Inhibitions = s, []*problem.CompiledInhibition{inhibition}
		})
		source := events.Event{
			Fingerprint: "n", Source: "alertmanager", Category: "c", Labels: map[string]string{"alert": "node-down", "node": "n1"},
			StartedAt: time.Now(),
		}
		for range 30 {
			b.postEvent(t, source)
			time.Sleep(time.Minute)
		}
		target := events.Event{
			Fingerprint: "d", Source: "alertmanager", Category: "c", Labels: map[string]string{"alert": "disk", "node": "n1"},
			StartedAt: time.Now(),
		}
		b.postEvent(t, target)
		require.Equal(t, int64(1), b.ledger(t, scopeA).Muted, "its source is still posted")
	})
}

func TestAlertThatEndsGoesToTheChannelOfItsFiring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupAlertsWith(func(o *pipeline.IntakeOptions, s *memory.Store) {
			rules, err := events.NewRules([]events.Rule{{Name: "teams", Set: events.Changes{Channel: "team-{{team}}"}}}, nil)
			require.NoError(t, err)
			o.Channels[0].Rules = rules
			registry := pipeline.NewRegistry(pipeline.RegistryOptions{Store: s})
			o.Instances = pipeline.NewInstances([]pipeline.Template{template(5, &sink{})}, o.Channels, registry, o.Metrics)
		})
		b.postEvent(t, events.Event{
			Fingerprint: "x", Source: "alertmanager", Category: "c", Annotations: map[string]string{"team": "web"}, StartedAt: time.Now(),
		})
		time.Sleep(time.Hour)
		b.wake(t, 0)
		require.Equal(t, int64(2), b.ledger(t, store.Channel{Group: "team-web", Name: "team-web"}).Received)
		require.Zero(t, b.ledger(t, scopeA).Received)
	})
}

func TestPostsOfAMutedAlertCountOneFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registered := prometheus.NewRegistry()
		b := setupAlertsWith(func(o *pipeline.IntakeOptions, s *memory.Store) {
			a := channel("a", &sink{})
			rules, err := events.NewRules([]events.Rule{{Name: "teams", Set: events.Changes{Channel: "team-{{team}}"}}}, nil)
			require.NoError(t, err)
			a.Rules = rules
			o.Channels = []pipeline.Channel{a}
			o.Metrics = pipeline.NewMetrics(registered)
			o.Instances = pipeline.NewInstances([]pipeline.Template{template(10, &sink{})}, o.Channels,
				pipeline.NewRegistry(pipeline.RegistryOptions{Store: s}), o.Metrics)
			o.Silences = &listener{mutes: true}
			o.Problems = s
			node := "node"
			inhibition, err := problem.Inhibition{
				Name: "n", Source: []events.Matcher{{Field: "category", Is: &node}}, Target: []events.Matcher{{Field: "category", Is: &node}},
			}.Compile()
			require.NoError(t, err)
			o.Inhibitions = []*problem.CompiledInhibition{inhibition}
		})
		for range 5 {
			b.postEvent(t, events.Event{
				ID: "x", Fingerprint: "x", Source: "alertmanager", Category: "c", Title: "x", StartedAt: time.Now(), Status: events.Firing,
			})
			time.Sleep(time.Minute)
		}
		families, err := registered.Gather()
		require.NoError(t, err)
		fallbacks := 0
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if family.GetName() == "relay_template_fallbacks_total" {
					fallbacks += int(metric.GetCounter().GetValue())
				}
			}
		}
		require.Equal(t, 1, fallbacks)
	})
}
