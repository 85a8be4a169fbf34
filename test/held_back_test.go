package test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// clicksFile is a configuration whose digests are due at once; the token, if there is one, turns clicks on.
func clicksFile(token string) string {
	return token + `
channels:
  - name: alerts
    slack_channel: C0ALERTS
    pace: 1ms
    burst: 100
    category_limit: 1
    digest_interval: 1s
    operators: [U00, U01, U02, U03, U04]
`
}

// The replicas get the app-level token with a reload, and lose it with another one. In between, five operators on three replicas
// look at what a digest counts and want the same event posted, and Slack delivers each click twice.
func TestHeldBackEventIsPostedOnceWhileTheTokenComesAndGoes(t *testing.T) {
	t.Parallel()
	slack, redis, path := startSlack(t), redistest.Start(t), configFile(t, clicksFile(""))
	slack.AppToken = "xapp-1-A0001-2-hush"
	env := withFile(redis.URL, slack.APIURL(), path)
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	sockets := func(want int) func() bool { return func() bool { return slack.Sockets() == want } }
	reload := func(text string, want int) {
		before := replicas[0].configuration(t)
		rewrite(t, path, text)
		for _, r := range replicas {
			r.waitForChange(t, before.Hash)
		}
		require.Eventually(t, sockets(want), 15*time.Second, 10*time.Millisecond)
	}
	replicas[0].post(t, "alerts", firing(1))
	replicas[0].drained(t, "alerts", 10*time.Second)
	require.ErrorContains(t, slack.Click("U00", slack.Posts()[0].TS, notifier.ActionAcknowledge), "has no element")
	reload(clicksFile("slack_app_token: "+slack.AppToken), 2)

	const held, users = 7, 5
	events := make([]event, held+1)
	for i := range events {
		events[i] = event{Category: "checkout", Title: fmt.Sprintf("shop %d is closed", i)}
	}
	require.Equal(t, held, replicas[1].post(t, "alerts", events).Dropped)
	digest := posted(t, slack, "held back")
	payloads := make([]map[string]any, users)
	for i := range users {
		user := fmt.Sprintf("U0%d", i)
		payloads[i] = pressPost(t, slack, user, digest.TS)
	}
	var all sync.WaitGroup
	for _, payload := range payloads {
		for range 2 {
			all.Go(func() { _ = slack.Send("interactive", payload) }) // a click that is lost shows in the ledger
		}
	}
	all.Wait()
	ledger := store.Ledger{Received: held + 2 + 2*users, Admitted: 3, Dropped: held, Duplicate: 2*users - 1, Delivered: 3, Forced: 1}
	replicas[2].settled(t, "alerts", ledger)
	require.Equal(t, 2, countPosts(slack, "is closed"), "the one that was admitted, and the one that was forced")
	require.Zero(t, replicas[1].status(t, "alerts").Ledger.Imbalance())
	const done = "It is posted, past the limits."
	require.Eventually(t, func() bool { return answered(slack, users, done) == 1 }, 5*time.Second, 10*time.Millisecond)

	reload(clicksFile(""), 0)
	require.Error(t, slack.Click("U00", digest.TS, notifier.ActionShowDrops), "nobody receives it")
	replicas[1].post(t, "alerts", firing(2))
	replicas[1].drained(t, "alerts", 10*time.Second)
	posts := slack.Posts()
	require.ErrorContains(t, slack.Click("U00", posts[len(posts)-1].TS, notifier.ActionAcknowledge), "has no element")
	for _, r := range replicas {
		require.NotContains(t, r.output.String(), "hush")
	}
}

// posted waits for a message with a text.
func posted(t *testing.T, slack *fakeslack.Server, text string) (found fakeslack.Post) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, post := range slack.Posts() {
			if strings.Contains(post.Text, text) {
				found = post
				return true
			}
		}
		return false
	}, 15*time.Second, 10*time.Millisecond, text)
	return found
}

// pressPost lets a user open what a digest counts, turn to the second page and back, and press the first Post anyway. It returns what
// Slack delivers of that.
func pressPost(t *testing.T, slack *fakeslack.Server, user, digest string) map[string]any {
	t.Helper()
	shows := func(ts, action, text string) string {
		require.NoError(t, slack.Click(user, ts, action))
		var list string
		require.Eventually(t, func() bool {
			for _, answer := range slack.Answers(user) {
				if strings.Contains(string(answer.Blocks), text) {
					list = answer.TS
				}
			}
			return list != ""
		}, 5*time.Second, 5*time.Millisecond, text)
		return list
	}
	list := shows(digest, notifier.ActionShowDrops, "page 1 of 2")
	list = shows(list, notifier.ActionShowDrops, "page 2 of 2")
	list = shows(list, notifier.ActionShowDrops, "page 1 of 2")
	payload, err := slack.ClickPayload(user, list, notifier.ActionPost)
	require.NoError(t, err)
	return payload
}

// answered returns how many answers the users got with a text.
func answered(slack *fakeslack.Server, users int, text string) (n int) {
	for i := range users {
		for _, answer := range slack.Answers(fmt.Sprintf("U0%d", i)) {
			if answer.Text == text {
				n++
			}
		}
	}
	return n
}
