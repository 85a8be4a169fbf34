package test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// There are more channels than a page of the list has.
func TestStatusShowsTheChannelsThatAreWanted(t *testing.T) {
	t.Parallel()
	const channels = 1100
	var config strings.Builder
	config.WriteString("channels:\n")
	for i := range channels {
		fmt.Fprintf(&config, "  - {name: channel-%04d, slack_channel: C%d, category_limit: 2}\n", i, i)
	}
	slack := startSlack(t)
	relay := startRelay(t, append(withFile("", slack.APIURL(), configFile(t, config.String())), "RELAY_ADMIN_TOKEN=4dm1n")...)
	show := func(args ...string) []string {
		t.Helper()
		stdout, stderr, code := runRelay(t, nil, append([]string{"status", "--json", "--ops-url", relay.ops}, args...)...)
		require.Equal(t, 0, code, stderr)
		var status struct{ Channels []struct{ Channel string } }
		require.NoError(t, json.Unmarshal([]byte(stdout), &status))
		names := []string{}
		for _, ch := range status.Channels {
			names = append(names, ch.Channel)
		}
		return names
	}
	all := show()
	require.Len(t, all, channels, "all pages")
	require.Equal(t, "channel-0000", all[0])
	require.Equal(t, "channel-1099", all[channels-1])
	require.Len(t, show("--name", "channel-0"), 1000, "a filter has several pages too")
	require.Equal(t, []string{"channel-0042"}, show("--name", "CHANNEL-0042"), "in upper or lower case")
	require.Empty(t, show("--name", "nothing"))

	for _, channel := range []string{"channel-0007", "channel-1007"} {
		_, stderr, code := runRelay(t, []string{"RELAY_ADMIN_TOKEN=4dm1n"}, "pause", "--channel", channel, "--for", "1h", "--ops-url", relay.ops)
		require.Equal(t, 0, code, stderr)
	}
	soon := func(want []string, args ...string) { // a reading of many channels is used again for a second
		t.Helper()
		require.Eventually(t, func() bool { return fmt.Sprint(show(args...)) == fmt.Sprint(want) }, 20*time.Second, 200*time.Millisecond)
	}
	soon([]string{"channel-0007", "channel-1007"}, "--state", "paused")
	soon([]string{"channel-1007"}, "--state", "paused", "--name", "1007")
	relay.post(t, "channel-0007", event{Title: "it waits"})
	soon([]string{"channel-0007", "channel-1007"}, "--state", "paused")
	require.Len(t, show("--state", "idle"), channels-2)

	_, stderr, code := runRelay(t, nil, "status", "--state", "tired", "--ops-url", relay.ops)
	require.NotZero(t, code)
	require.Contains(t, stderr, `state: "tired" is not a state; use one of`)
}
