package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// The other replica was never asked to deliver to any of these channels. It goes on with all of them when the leases end.
func TestKilledReplicaLeavesWorkInManyChannels(t *testing.T) {
	t.Parallel()
	const channels, messages = 40, 3
	const lease = 2 * time.Second
	slack, redis := startSlack(t), redistest.Start(t)
	var config strings.Builder
	config.WriteString("channels:\n")
	for i := range channels {
		fmt.Fprintf(&config, "  - {name: c%02d, slack_channel: C%02d, pace: 0s}\n", i, i)
		// the answer to the second message of each comes after the kill
		slack.Script(fmt.Sprintf("C%02d", i), fakeslack.Reply{}, fakeslack.Reply{Posted: true, Delay: 10 * time.Second})
	}
	file := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config.String()), 0o600))
	env := []string{
		"RELAY_CONFIG=" + file, "RELAY_REDIS_URL=" + redis.URL, "RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL=" + slack.APIURL(),
		"RELAY_LEASE=2s", "RELAY_SLACK_TIMEOUT=1s", "RELAY_SLACK_LOOKUP_DELAY=100ms",
	}
	victim, survivor := startRelay(t, env...), startRelay(t, env...)
	var events []event
	for i := range messages {
		events = append(events, event{Title: fmt.Sprintf("message %d", i)})
	}
	for i := range channels {
		victim.post(t, fmt.Sprintf("c%02d", i), events)
	}
	require.Eventually(t, func() bool { return len(slack.Posts()) >= 2*channels }, 10*time.Second, time.Millisecond)
	victim.kill()
	killed := time.Now()
	require.Eventually(t, func() bool { return len(slack.Posts()) >= channels*messages }, 10*time.Second, 10*time.Millisecond)
	require.Less(t, time.Since(killed), lease+2*time.Second)

	for i := range channels {
		survivor.drained(t, fmt.Sprintf("c%02d", i), 5*time.Second)
	}
	byChannel := map[string][]string{}
	for _, post := range slack.Posts() {
		byChannel[post.Channel] = append(byChannel[post.Channel], post.Text)
	}
	require.Len(t, byChannel, channels)
	for channel, texts := range byChannel {
		require.Len(t, texts, messages, channel)
		require.IsIncreasing(t, texts, channel)
	}
}
