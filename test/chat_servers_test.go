package test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier/fakechat"
)

// A server that limits the rate is asked again when it says so; without its limit, nothing paces the messages.
func TestChannelsOfMattermostAndRocketChat(t *testing.T) {
	t.Parallel()
	mattermost, rocketChat := fakechat.NewMattermost(), fakechat.NewRocketChat()
	t.Cleanup(mattermost.Close)
	t.Cleanup(rocketChat.Close)
	relay := startRelay(t, "RELAY_CHANNELS=mattermost,rocketchat",
		"RELAY_CHANNEL_MATTERMOST_SLACK_WEBHOOK_URL="+mattermost.MattermostURL(),
		"RELAY_CHANNEL_ROCKETCHAT_SLACK_WEBHOOK_URL="+rocketChat.RocketChatURL())
	rocketChat.Refuse(&fakechat.Refusal{Status: 429, RetryIn: 1})
	relay.post(t, "rocketchat", event{Title: "Disk *full*", Severity: "critical"})
	for _, title := range []string{"1", "2", "3", "4", "5", "6"} {
		relay.post(t, "mattermost", event{Title: title})
	}
	relay.drained(t, "mattermost", 3*time.Second)
	require.Len(t, mattermost.Posts(), 6)
	require.Eventually(t, func() bool {
		return relay.status(t, "rocketchat").State.Reason == "rate_limited"
	}, 5*time.Second, 5*time.Millisecond)
	rocketChat.Refuse(nil)
	relay.drained(t, "rocketchat", 5*time.Second)
	require.Equal(t, "🔴 **Disk ∗full∗**", rocketChat.Posts()[0].Text)
	require.Equal(t, "#e01e5a", rocketChat.Posts()[0].Attachments[0].Color)
}
