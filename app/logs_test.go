package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The line of a start stays short, however many channels there are.
func TestStartIsLoggedWithTheNumberOfChannels(t *testing.T) {
	cfg := localConfig()
	cfg.LogFormat = "json"
	cfg.Channels = slices.Repeat(cfg.Channels[:1], 100)
	for i := range cfg.Channels {
		cfg.Channels[i].Name = fmt.Sprintf("c%03d", i)
	}
	var log bytes.Buffer
	_, stop := start(t, Options{Config: &cfg, Stderr: &log})
	require.NoError(t, stop())
	for line := range bytes.Lines(log.Bytes()) {
		var started struct {
			Msg           string
			Channels      int
			FirstChannels []string `json:"first_channels"`
		}
		require.NoError(t, json.Unmarshal(line, &started), "%s", line)
		if started.Msg == "relay started" {
			require.Equal(t, 100, started.Channels)
			require.Equal(t, []string{"c000", "c001", "c002", "c003", "c004"}, started.FirstChannels)
			return
		}
	}
	t.Fatalf("not logged:\n%s", log.String())
}
