package test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/test/golden"
)

// groupHook is a webhook of a group, with alerts like "a1 firing".
func groupHook(key string, alerts ...string) map[string]any {
	var all []map[string]any
	for _, one := range alerts {
		name, status, _ := strings.Cut(one, " ")
		all = append(all, alert("Disk", name, status, name+" is full"))
	}
	hook := alertmanager(all...)
	hook["groupKey"] = key
	return hook
}

// headlines are the first lines of all messages but those of the beginning of the outage.
func headlines(slack *fakeslack.Server) (all []string) {
	for _, post := range slack.Posts() {
		if text, _ := shownLast(post); !strings.Contains(text, "until it is noticed") {
			all = append(all, text)
		}
	}
	return all
}

// Group a fires before the outage, and group b in it. Without Redis, nobody knows the message of a group: each alert is a message of
// its own, which its resolve finds afterwards. What was resolved meanwhile is resolved in the group's message too.
func TestGroupsAcrossAnOutage(t *testing.T) {
	t.Parallel()
	during := []map[string]any{groupHook("a", "a1 resolved", "a2 firing", "a3 firing"), groupHook("b", "b1 firing", "b2 firing")}
	after := []map[string]any{
		groupHook("a", "a1 resolved", "a2 firing", "a3 firing", "a4 firing"), groupHook("b", "b1 firing", "b2 firing", "b3 firing"),
	}
	end := []map[string]any{
		groupHook("a", "a1 resolved", "a2 resolved", "a3 resolved", "a4 resolved"),
		groupHook("b", "b1 resolved", "b2 resolved", "b3 resolved"),
	}
	byThemselves := groupHeadlines{
		during: []string{"🔴 *Disk* — 2 firing", "✅ *Resolved: a1 is full*", "🔴 *a3 is full*", "🔴 *b1 is full*", "🔴 *b2 is full*"},
		after: []string{
			"🔴 *Disk* — 2 firing, 1 resolved", "✅ *Resolved: a1 is full*", "🔴 *a3 is full*", "🔴 *b1 is full*", "🔴 *b2 is full*",
			"🔴 *b3 is full*",
		},
		end: []string{
			"✅ *Disk* — 3 resolved", "✅ *Resolved: a1 is full*", "✅ *Resolved: a3 is full*", "✅ *Resolved: b1 is full*",
			"✅ *Resolved: b2 is full*", "✅ *Resolved: b3 is full*",
		},
	}
	for policy, want := range map[string]groupHeadlines{
		"local": byThemselves,
		"open":  byThemselves,
		"closed": {
			during: []string{"🔴 *Disk* — 2 firing"},
			after:  []string{"🔴 *Disk* — 3 firing, 1 resolved", "🔴 *Disk* — 3 firing"},
			end:    []string{"✅ *Disk* — 4 resolved", "✅ *Disk* — 3 resolved"},
		},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			slack, redis := startSlack(t), redistest.Start(t, always...)
			relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN="+policy)...)
			post := func(hooks []map[string]any, status int) {
				for _, hook := range hooks {
					got, answer := request(t, http.MethodPost, relay.public+"/hooks/alerts", "", golden.Encode(t, hook))
					require.Equal(t, status, got, "%s", answer)
				}
			}
			shows := func(want []string) {
				t.Helper()
				require.Eventually(t, func() bool { return slices.Equal(want, headlines(slack)) }, 30*time.Second, 10*time.Millisecond, "%q", want)
			}
			post([]map[string]any{groupHook("a", "a1 firing", "a2 firing")}, http.StatusAccepted)
			shows([]string{"🔴 *Disk* — 2 firing"})
			if policy == "closed" {
				redis.Kill()
				post(during, http.StatusServiceUnavailable)
			} else {
				relay.loseRedis(t, redis)
				post(during, http.StatusAccepted)
			}
			shows(want.during)
			redis.Up()
			relay.logs(t, "back on Redis")
			post(after, http.StatusAccepted)
			shows(want.after)
			post(end, http.StatusAccepted)
			shows(want.end)
			require.Zero(t, relay.drained(t, "alerts", 10*time.Second).Ledger.Imbalance())
		})
	}
}

// groupHeadlines are what Slack shows in an outage, after it, and when all alerts are resolved.
type groupHeadlines struct{ during, after, end []string }
