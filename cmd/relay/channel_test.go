package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheChannelOfTheConfigurationIsNotGuessed(t *testing.T) {
	t.Parallel()
	webhook := writeFile(t, `{"title":"x"}`)
	for _, args := range [][]string{
		{"send", "--title", "x"}, {"simulate", "--events", "10"}, {"check", "--explain", webhook},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			_, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts,db"}, args...)
			require.Equal(t, 2, code)
			require.Equal(t, "relay: --channel is missing; the configuration has these channels: alerts, db\n", stderr)
			if args[0] == "send" {
				return // the relay may have channels that the configuration here does not have
			}
			_, stderr, code = runRelay(t, []string{"RELAY_CHANNELS=alerts,db"}, append(args, "--channel", "x")...)
			require.Equal(t, 2, code)
			require.Equal(t, "relay: --channel: the configuration has no channel \"x\"; use one of these: alerts, db\n", stderr)
			_, stderr, code = runRelay(t, []string{"RELAY_CHANNELS=alerts,db"}, append(args, "--channel", "db")...)
			require.Zero(t, code, stderr)
		})
	}
}
