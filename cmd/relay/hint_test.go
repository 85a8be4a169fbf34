package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

func TestHintsCanBePasted(t *testing.T) {
	t.Parallel()
	opts := opsOptions{channel: "alerts", address: "http://10.0.0.1:9090", addressFrom: configs.OpsURLVariable}
	require.Equal(t, "relay drops replay --channel alerts 1-1", opts.command("relay drops replay", "1-1"), "the variable stays set")
	opts.addressFrom = opsURLFlag
	opts.flags.File = "my relay.yaml"
	opts.token = "4dm1n"
	require.Equal(t, `relay dead replay --channel alerts --force '$(id) it'\''s' --ops-url http://10.0.0.1:9090 --config 'my relay.yaml'`,
		opts.command("relay dead replay", "--force", "$(id) it's"))
	require.Equal(t, "relay silence expire X --ops-url http://10.0.0.1:9090 --config 'my relay.yaml'",
		opts.commandOf("relay silence expire", "X"))
	opts.address = "http://ada:hunter2@10.0.0.1:9090"
	require.NotContains(t, opts.command("relay resume"), "hunter2")
}
