package pipeline_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// quietOnCall mutes what goes to the channel oncall.
type quietOnCall struct{}

func (quietOnCall) Mutes(e *events.Event) string {
	if e.Channel == "oncall" {
		return "s1"
	}
	return ""
}

// copying returns an intake for a team's channel whose rules copy what is critical to the channel incidents, which admits
// one event of a category, and all else but information to oncall, which is silenced.
func copying(t *testing.T) (*pipeline.Intake, *memory.Store, map[string]int) {
	t.Helper()
	critical, info := "critical", "info"
	rules, err := events.NewRules([]events.Rule{
		{Name: "noise", Match: []events.Matcher{{Field: "severity", Is: &info}}, Mute: true, Continue: true},
		{Name: "pager", CopyTo: []string{"oncall", "team"}, Continue: true},
		{
			Name: "outage", Match: []events.Matcher{{Field: "severity", Is: &critical}}, Set: events.Changes{Category: "outage"},
			CopyTo: []string{"incidents", "oncall"},
		},
	}, nil)
	require.NoError(t, err)
	team, incidents, oncall := channel("team", nil), channel("incidents", nil), channel("oncall", nil)
	team.Rules = rules
	incidents.Tiers = tiers(ratelimit.Window{Limit: 5, Per: time.Hour}, ratelimit.Window{Limit: 1, Per: time.Hour})
	limiter := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	woken := map[string]int{}
	channels := []pipeline.Channel{team, incidents, oncall}
	for _, c := range channels {
		channels = append(channels, c.TestLane())
	}
	return pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(name string) { woken[name]++ }, Silences: quietOnCall{},
	}), limiter, woken
}

func incident(id string, severity events.Severity) events.Event {
	return events.Event{ID: id, Source: "generic", Category: "disk", Severity: severity, Title: "disk full"}
}

func TestCopiesOfAnEventAreDecidedAndCountedByTheirOwnChannels(t *testing.T) {
	t.Parallel()
	intake, limiter, woken := copying(t)
	receipt, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: "team", Sender: "me", Events: []events.Event{
		incident("1", events.Critical), incident("2", events.Info), incident("3", events.Critical),
	}})
	require.NoError(t, err)
	wait := receipt.Events[6].RetryAfter
	require.NotNil(t, wait)
	require.Equal(t, pipeline.Receipt{
		Received: 7, Admitted: 3, Dropped: 1, Muted: 3, Durable: false,
		Events: []pipeline.EventReceipt{
			{ID: "1", Category: "outage", Outcome: "admitted"},
			{ID: "2", Category: "disk", Outcome: "muted", By: "rule noise"},
			{ID: "3", Category: "outage", Outcome: "admitted"},
			{ID: "1", Category: "outage", Outcome: "muted", Channel: "oncall", By: "silence s1"},
			{ID: "1", Category: "outage", Outcome: "admitted", Channel: "incidents"},
			{ID: "3", Category: "outage", Outcome: "muted", Channel: "oncall", By: "silence s1"},
			{ID: "3", Category: "outage", Outcome: "dropped", Channel: "incidents", Level: "category", RetryAfter: wait},
		},
	}, receipt)
	require.Equal(t, map[string]int{"team": 1, "incidents": 1}, woken)
	for name, want := range map[string]store.Ledger{
		"team":      {Received: 3, Admitted: 2, Muted: 1},
		"incidents": {Received: 2, Admitted: 1, Dropped: 1},
		"oncall":    {Received: 2, Muted: 2},
	} {
		report, err := limiter.Report(t.Context(), store.Channel{Group: name, Name: name})
		require.NoError(t, err)
		got := report.Ledger
		require.Equal(t, want, store.Ledger{Received: got.Received, Admitted: got.Admitted, Dropped: got.Dropped, Muted: got.Muted}, name)
	}
}

func TestCopiesOfATestEventGoToTestLanes(t *testing.T) {
	t.Parallel()
	intake, _, woken := copying(t)
	_, err := intake.Admit(t.Context(), pipeline.Arrival{
		Channel: "team", Sender: "me", Test: true, Events: []events.Event{incident("1", events.Critical)},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"team~test": 1, "incidents~test": 1}, woken)
}
