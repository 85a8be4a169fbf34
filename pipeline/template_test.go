package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
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

func TestPatternHasOnePlaceholder(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"team", "team-{{}}", "{{a}}{{b}}", "{{a b}}", "a}{{b}}"} {
		_, ok := pipeline.ParsePattern(text)
		require.False(t, ok, text)
	}
	p, ok := pipeline.ParsePattern("team-{{app.team}}-pager")
	require.True(t, ok)
	require.Equal(t, "app.team", p.Label)
	require.Equal(t, "team-{{app.team}}-pager", p.String())
	require.Equal(t, "team-a-pager", p.With("a"))
	value, ok := p.ValueIn("team-a-pager")
	require.True(t, ok)
	require.Equal(t, "a", value)
	_, ok = p.ValueIn("team-a")
	require.False(t, ok)
}

// template makes channels named team-<value>.
func template(most int64, s *sink) pipeline.Template {
	pattern, _ := pipeline.ParsePattern("team-{{team}}")
	return pipeline.Template{
		Pattern: pattern, Values: regexp.MustCompile(`^(?:[a-z0-9-]{1,10})$`), Most: most, Fallback: "a", ForgetAfter: 24 * time.Hour,
		Make: func(value string) pipeline.Channel { return channel("team-"+value, s) },
	}
}

// flakyInstances is a store that can be unavailable.
type flakyInstances struct {
	store.Instances
	away  atomic.Bool
	calls atomic.Int64
}

var errAway = errors.New("away")

func (f *flakyInstances) UseInstance(ctx context.Context, instance store.Instance, most int64) (store.Instance, error) {
	f.calls.Add(1)
	if f.away.Load() {
		return store.Instance{}, errAway
	}
	return f.Instances.UseInstance(ctx, instance, most)
}

func (f *flakyInstances) ChangedInstances(ctx context.Context, known int64) (int64, []store.Instance, error) {
	if f.away.Load() {
		return 0, nil, errAway
	}
	return f.Instances.ChangedInstances(ctx, known)
}

// templated is an intake whose channel a sends everything to a template.
type templated struct {
	intake    *pipeline.Intake
	instances *pipeline.Instances
	registry  *pipeline.Registry
	store     *flakyInstances
}

func newTemplated(t *testing.T, most int64, data *memory.Data) templated {
	t.Helper()
	return newTemplatedWith(t, most, data, nil)
}

func newTemplatedWith(t *testing.T, most int64, data *memory.Data, logger *slog.Logger) templated {
	t.Helper()
	engine := memory.New(data, memory.Options{})
	flaky := &flakyInstances{Instances: engine}
	registry := pipeline.NewRegistry(pipeline.RegistryOptions{Store: flaky, Logger: logger})
	a := channel("a", &sink{})
	rules, err := events.NewRules([]events.Rule{{Name: "teams", Set: events.Changes{Channel: "team-{{team}}"}}}, nil)
	require.NoError(t, err)
	a.Rules = rules
	metrics := pipeline.NewMetrics(prometheus.NewRegistry())
	instances := pipeline.NewInstances([]pipeline.Template{template(most, &sink{})}, []pipeline.Channel{a}, registry, metrics)
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: engine, Channels: []pipeline.Channel{a}, Instances: instances, Metrics: metrics, Wake: func(string) {},
	})
	return templated{intake, instances, registry, flaky}
}

// send returns the channel that an event of a team gets.
func (b templated) send(t *testing.T, id, team string) string {
	t.Helper()
	receipt, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Events: []events.Event{
		{ID: id, Category: "c", Severity: events.Warning, Labels: map[string]string{"team": team}},
	}})
	require.NoError(t, err)
	return receipt.Events[0].Channel
}

func names(channels []pipeline.Channel) (all []string) {
	for _, ch := range channels {
		all = append(all, ch.Name)
	}
	return all
}

func TestKnownInstanceCostsNoCall(t *testing.T) {
	t.Parallel()
	b := newTemplated(t, 2, memory.NewData(memory.DataOptions{}))
	require.Equal(t, "team-x", b.send(t, "1", "X"))
	require.Equal(t, "team-x", b.send(t, "2", "x"))
	require.Equal(t, "team-y", b.send(t, "3", "y"))
	require.Empty(t, b.send(t, "4", "z"), "the fallback, because the template is full")
	require.Equal(t, int64(2), b.store.calls.Load())
	require.Equal(t, []string{"team-x", "team-y"}, names(b.instances.All()))
}

func TestReplicasLearnOfEachOthersInstances(t *testing.T) {
	t.Parallel()
	data := memory.NewData(memory.DataOptions{})
	one, other := newTemplated(t, 2, data), newTemplated(t, 2, data)
	require.Equal(t, "team-x", one.send(t, "1", "x"))
	require.Empty(t, other.instances.All())
	require.NoError(t, other.registry.Refresh(t.Context()))
	require.Equal(t, []string{"team-x"}, names(other.instances.All()))
	lane, ok := other.instances.Find("team-x~test")
	require.True(t, ok)
	require.Equal(t, "team-x~test", lane.Name)

	_, err := one.store.RemoveInstance(t.Context(), "team-x", 0)
	require.NoError(t, err)
	require.NoError(t, other.registry.Refresh(t.Context()))
	require.Empty(t, other.instances.All())
	_, ok = other.instances.Find("team-x")
	require.False(t, ok)
}

// Redis loses its data during the outage: the instances that were used meanwhile are registered again.
func TestInstancesUsedDuringAnOutageAreRegistered(t *testing.T) {
	t.Parallel()
	b := newTemplated(t, 3, memory.NewData(memory.DataOptions{}))
	for _, team := range []string{"idle", "used"} {
		b.send(t, "before "+team, team)
	}
	require.NoError(t, b.registry.Refresh(t.Context()))
	b.store.away.Store(true)
	require.Error(t, b.registry.Refresh(t.Context()))
	before := b.store.calls.Load()
	require.Equal(t, "team-used", b.send(t, "1", "used"))
	require.Equal(t, "team-new", b.send(t, "2", "new"))
	require.Empty(t, b.send(t, "3", "beyond"), "the bound holds as far as this process knows")
	require.Equal(t, before, b.store.calls.Load(), "no event waits for a store that is away")

	b.store.Instances = memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	b.store.away.Store(false)
	require.NoError(t, b.registry.Refresh(t.Context()))
	_, all, err := b.store.ChangedInstances(t.Context(), 0)
	require.NoError(t, err)
	require.Subset(t, all, []store.Instance{
		{Name: "team-new", Template: "team-{{team}}", Value: "new"}, {Name: "team-used", Template: "team-{{team}}", Value: "used"},
	})
}

func TestWithoutTemplatesThereAreNoInstances(t *testing.T) {
	t.Parallel()
	none := pipeline.NewInstances(nil, nil, nil, nil)
	require.Nil(t, none)
	require.Empty(t, none.All())
	_, ok := none.Find("team-a")
	require.False(t, ok)
}

func TestFullTemplateIsLoggedOnceAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newTemplatedWith(t, 1, memory.NewData(memory.DataOptions{}), slog.New(slog.NewTextHandler(&log, nil)))
		require.Equal(t, "team-x", b.send(t, "1", "x"))
		require.Empty(t, log.String())
		for i := range 3 {
			b.send(t, fmt.Sprint("y", i), "y")
		}
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), `level=WARN msg="channel template full; its events go to the fallback" `+
			`template=team-{{team}} max_channels=1 fallback=a`)
		time.Sleep(time.Hour)
		b.send(t, "z", "z")
		require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	})
}
