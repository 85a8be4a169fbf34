package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
)

func TestRequestBuilderAsksForEveryLevelOfAnEvent(t *testing.T) {
	t.Parallel()
	window := ratelimit.Window{Limit: 10, Per: time.Minute}
	for name, c := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"with the label":    {map[string]string{"team": "db"}, []string{"channel", "category", "sender", "team"}},
		"without the label": {nil, []string{"channel", "category", "sender"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := channel("a", nil)
			for _, level := range []string{"sender", "team"} {
				ch.Tiers = append(ch.Tiers, ratelimit.LevelSpec{Name: level, Windows: []ratelimit.Window{window}})
			}
			ch.Headroom = map[events.Severity]float64{events.Info: 0.5}
			request := ch.RequestBuilder().Build(&events.Event{Category: "disk", Sender: "me", Severity: events.Info, Labels: c.labels})
			var names []string
			for _, level := range request.Levels {
				names = append(names, level.Name)
			}
			require.Equal(t, c.want, names)
			require.Equal(t, "disk", request.Category)
			require.Equal(t, int64(500), request.Headroom)
		})
	}
}

func TestTestLaneHasItsOwnBudget(t *testing.T) {
	t.Parallel()
	ch := channel("a", nil)
	ch.Group = "team"
	lane := ch.TestLane()
	require.Equal(t, pipeline.TestLaneOf("a"), lane.Name)
	require.NotEqual(t, ch.AllLevels()[0].Key, lane.AllLevels()[0].Key)
	require.Equal(t, ch.Tiers, lane.Tiers)
	status := pipeline.NewStatusReader(nil, []pipeline.Channel{ch, lane, pipeline.CanaryChannel(nil, time.Minute)}, nil, nil)
	require.Equal(t, []string{"a"}, status.Channels(), "lanes are not listed")
}
