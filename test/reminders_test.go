package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// reminderFile is a configuration of channels that remind soon.
const reminderFile = `
channels:
  - name: alerts
    slack_channel: C0ALERTS
    pace: 1ms
    burst: 100
    category_limit: 100
    remind_after: 4s
    remind_mention: S0ONCALL
  - name: again
    slack_channel: C0AGAIN
    pace: 1ms
    burst: 100
    category_limit: 100
    remind_after: 4s
    remind_in: channel
`

// Half of the alerts are resolved in time. A replica dies while the others are due.
func TestPeopleAreRemindedOnceAlthoughAReplicaDies(t *testing.T) {
	t.Parallel()
	slack, redis, path := startSlack(t), redistest.Start(t), configFile(t, reminderFile)
	env := append(withFile(redis.URL, slack.APIURL(), path), "RELAY_LEASE=2s", "RELAY_SLACK_TIMEOUT=1s", "RELAY_SLACK_LOOKUP_DELAY=100ms")
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	const n = 12
	posted := func(text string) (n int) {
		for _, post := range slack.Posts() {
			if strings.Contains(post.Form.Get("text"), text) {
				n++
			}
		}
		return n
	}
	for _, channel := range []string{"alerts", "again"} {
		for i := range n {
			e := problemEvent{ID: fmt.Sprint("f", i), Title: fmt.Sprintf("%s %02d.", channel, i), Fingerprint: fmt.Sprint(i), Status: "firing"}
			require.Equal(t, 1, replicas[i%3].post(t, channel, e).Admitted)
		}
		require.Eventually(t, func() bool { return posted("*"+channel+" ") == n }, 20*time.Second, time.Millisecond)
		for i := range n / 2 {
			e := problemEvent{ID: fmt.Sprint("r", i), Title: "over", Fingerprint: fmt.Sprint(i), Status: "resolved"}
			require.Equal(t, 1, replicas[(i+1)%3].post(t, channel, e).Merged)
		}
	}
	require.Eventually(t, func() bool { return posted("till firing") > 3 }, 20*time.Second, time.Millisecond)
	replicas[0].kill()
	for i := n / 2; i < n; i++ {
		require.Eventually(t, func() bool {
			return posted(fmt.Sprintf("till firing: alerts %02d.", i))+repliesAbout(slack, fmt.Sprintf("alerts %02d.", i)) > 0 &&
				posted(fmt.Sprintf("Still firing: again %02d.", i)) > 0
		}, 20*time.Second, 20*time.Millisecond, i)
	}
	time.Sleep(1500 * time.Millisecond) // nothing more follows
	for i := range n {
		want := 0
		if i >= n/2 {
			want = 1
		}
		require.Equal(t, want, repliesAbout(slack, fmt.Sprintf("alerts %02d.", i)), i)
		require.Equal(t, want, posted(fmt.Sprintf("Still firing: again %02d.", i)), i)
	}
	replicas[1].settled(t, "alerts", store.Ledger{Received: n + n/2, Admitted: n, Merged: n / 2, Delivered: n})
	replicas[1].settled(t, "again", store.Ledger{Received: n + n, Admitted: n + n/2, Merged: n / 2, Delivered: n + n/2})
}

// repliesAbout returns how many replies that mention the users on call contain a text.
func repliesAbout(slack *fakeslack.Server, text string) (n int) {
	for _, post := range slack.Posts() {
		form := post.Form
		if form.Get("thread_ts") != "" && strings.Contains(form.Get("text"), text) && strings.Contains(form.Get("text"), "<!subteam^S0ONCALL>") {
			n++
		}
	}
	return n
}
