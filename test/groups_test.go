package test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// groupModel is what the message of a group must report, as a person would keep count.
type groupModel struct {
	key    string
	firing map[int]bool // by alert: whether it fires
	since  map[int]time.Time
}

// webhook is what the sender posts about some alerts, in a random order.
func (m *groupModel) webhook(alerts []int, status string) map[string]any {
	var all []map[string]any
	for _, i := range alerts {
		m.firing[i] = status == "firing"
		if m.firing[i] {
			m.since[i] = time.Now()
		}
		one := alert("DiskFull", fmt.Sprint(m.key, "-", i), status, fmt.Sprint("Disk full on ", m.key, "-", i))
		one["startsAt"] = m.since[i].Format(time.RFC3339Nano)
		all = append(all, one)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	hook := alertmanager(all...)
	hook["groupKey"] = m.key
	return hook
}

// headline is what the message must show, if more than one alert was reported.
func (m *groupModel) headline() string {
	resolved := 0
	for _, firing := range m.firing {
		if !firing {
			resolved++
		}
	}
	switch firing := len(m.firing) - resolved; {
	case firing == 0:
		return fmt.Sprintf("✅ *DiskFull* — %d resolved", resolved)
	case resolved == 0:
		return fmt.Sprintf("🔴 *DiskFull* — %d firing", firing)
	default:
		return fmt.Sprintf("🔴 *DiskFull* — %d firing, %d resolved", firing, resolved)
	}
}

// pick returns the alerts of a size that fire, or that do not.
func (m *groupModel) pick(size int, firing bool) []int {
	var all []int
	for i := range size {
		if m.firing[i] == firing {
			all = append(all, i)
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Alerts of groups of any size fire, join and are resolved, at once and in parts, in any order, over three replicas that are
// killed. Each group is one message, which is right after each step.
func TestGroupIsOneMessageWhateverJoinsAndInWhichOrder(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=6", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=6",
		"RELAY_MAX_EVENTS=1000")
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	step := 0
	post := func(hook map[string]any) {
		if step++; step%9 == 0 { // a replica dies, and another takes its place
			replicas[step%3].kill()
			replicas[step%3] = startRelay(t, env...)
		}
		replicas[rand.IntN(3)].post(t, "alerts", hook)
	}
	message := func(n int) func() (fakeslack.Post, bool) {
		return func() (fakeslack.Post, bool) {
			posts := slack.Posts()
			if len(posts) <= n {
				return fakeslack.Post{}, false
			}
			return posts[n], true
		}
	}
	for n, size := range []int{1, 10, 11, 20, 128, 500} {
		m := &groupModel{key: fmt.Sprint("group", size), firing: map[int]bool{}, since: map[int]time.Time{}}
		shown := message(n)
		check := func() {
			want := m.headline()
			if len(m.firing) == 1 {
				want = map[bool]string{true: "🔴 *Disk full on group", false: "✅ *Resolved: Disk full on group"}[len(m.pick(size, true)) == 1]
			}
			require.Eventually(t, func() bool {
				posted, ok := shown()
				text, _ := shownLast(posted)
				return ok && (text == want || len(m.firing) == 1 && len(text) > len(want) && text[:len(want)] == want)
			}, 30*time.Second, 10*time.Millisecond, want)
		}
		part := func(all []int) []int { return all[:1+rand.IntN(len(all))] }
		post(m.webhook(part(m.pick(size, false)), "firing"))
		check()
		for range 5 {
			if quiet := m.pick(size, false); len(quiet) > 0 && rand.IntN(2) == 0 {
				post(m.webhook(part(quiet), "firing"))
				check()
			}
			if firing := m.pick(size, true); len(firing) > 1 {
				post(m.webhook(firing[:1+rand.IntN(len(firing)-1)], "resolved"))
				check()
			}
		}
		if quiet := m.pick(size, false); len(quiet) > 0 {
			post(m.webhook(quiet, "firing"))
			check()
		}
		for firing := m.pick(size, true); len(firing) > 0; firing = m.pick(size, true) {
			post(m.webhook(part(firing), "resolved"))
			check()
		}
		require.Len(t, m.firing, size)
		require.Len(t, slack.Posts(), n+1)
	}
	status := replicas[0].drained(t, "alerts", 20*time.Second)
	require.Zero(t, status.Ledger.Imbalance())
	require.Equal(t, int64(6), status.Ledger.Admitted, "one slot for a group")
	require.Equal(t, int64(6), status.Ledger.Delivered)
	require.Zero(t, status.Ledger.Dropped)
}
