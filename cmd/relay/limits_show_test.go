package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
)

func TestLimitsShowFillsTheRowsOfCategories(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	showLimits(&out, pipeline.ChannelStatus{
		Levels:     []pipeline.LevelStatus{{Level: "channel", Used: 1, Limit: 9, Per: 60}},
		Categories: []pipeline.CategoryStatus{{Category: "disk", Used: 3, Limit: 3, Per: 60, RetryAfter: 12}},
	})
	require.Regexp(t, `category disk +3 +3 +1m +in 12s\n`, out.String())
}
