package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
)

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
