package pipeline_test

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// everyWatchdog finds heartbeats by their category.
type everyWatchdog struct{}

func (everyWatchdog) Match(_ string, e *events.Event, _ http.Header, _ bool) string {
	if e.Category == "watchdog" {
		return "prometheus"
	}
	return ""
}

func TestRecordingHasHeartbeatsAndHashesOfGroups(t *testing.T) {
	t.Parallel()
	var recorder pipeline.Recorder
	recording, ok := recorder.Listen("a")
	require.True(t, ok)
	defer recording.Stop()
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter:  memory.New(memory.NewData(memory.DataOptions{}), memory.Options{Options: store.Options{Owner: "me"}}),
		Channels: []pipeline.Channel{channel("a", &sink{})}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(string) {}, Heartbeats: everyWatchdog{}, Recorder: &recorder,
	})
	_, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{
		{ID: "1", Category: "disk", Source: "alertmanager", Group: "g"},
		{ID: "2", Category: "disk", Source: "alertmanager", Group: "g"},
		{ID: "3", Category: "disk", Source: "alertmanager"},
		{ID: "4", Category: "watchdog", Source: "alertmanager"},
	}})
	require.NoError(t, err)
	recorded := <-recording.Arrived()
	require.Len(t, recorded, 4)
	require.Len(t, recorded[0].Group, 32)
	require.Equal(t, recorded[0].Group, recorded[1].Group)
	require.Empty(t, recorded[2].Group)
	require.Equal(t, "watchdog", recorded[3].Category)
}

func TestRecordingsAreBounded(t *testing.T) {
	t.Parallel()
	var recorder pipeline.Recorder
	var last *pipeline.Recording
	for range pipeline.MaxRecordings {
		recording, ok := recorder.Listen("a")
		require.True(t, ok)
		last = recording
	}
	_, ok := recorder.Listen("a")
	require.False(t, ok)
	last.Stop()
	_, ok = recorder.Listen("a")
	require.True(t, ok)
}
