package configs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/server"
	"slackrelay/store"
)

// The rooms have defaults of their own, for those who use them without a configuration.
func TestDefaultsAreThoseOfTheRooms(t *testing.T) {
	t.Parallel()
	cfg := configs.Default()
	limits := events.DefaultLimits()
	require.EqualValues(t, server.DefaultMaxBody, cfg.MaxBody)
	require.EqualValues(t, server.DefaultMaxConcurrent, cfg.MaxConcurrent)
	require.Equal(t, server.DefaultReadTimeout, cfg.ReadTimeout)
	require.EqualValues(t, limits.Events, cfg.MaxEvents)
	require.EqualValues(t, limits.Depth, cfg.MaxDepth)
	require.EqualValues(t, limits.Title, cfg.MaxTitle)
	require.EqualValues(t, limits.Text, cfg.MaxText)
	require.EqualValues(t, limits.Label, cfg.MaxLabel)
	require.EqualValues(t, limits.Labels, cfg.MaxLabels)
	require.EqualValues(t, limits.Event, cfg.MaxEvent)
	require.Equal(t, store.DefaultPostedFor, cfg.Channels[0].RememberPosted)
}
