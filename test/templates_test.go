package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// teams is the end of a configuration file: a template, with more settings, for the teams whose events arrive in alerts.
func teams(settings string) string {
	return channelFile(`    rules: [{name: teams, set: {channel: "team-{{team}}"}}]
`) + `  - name: team-{{team}}
    slack_channel: "#team-{{team}}-alerts"
    fallback: alerts
    pace: 1ms
    burst: 100
    digest: false
    global_limit: 3
` + settings
}

// ofTeam is an event of a team.
func ofTeam(team, title string) map[string]any {
	return map[string]any{"title": title, "labels": map[string]string{"team": team}}
}

// postsTo returns the texts of what was posted to a Slack channel.
func postsTo(slack *fakeslack.Server, channel string) (texts []string) {
	for _, post := range slack.Posts() {
		if post.Channel == channel {
			texts = append(texts, post.Text)
		}
	}
	return texts
}

// channelNames lists the channels that a replica shows.
func (p *process) channelNames(tb testing.TB) (names []string) {
	tb.Helper()
	code, answer := request(tb, http.MethodGet, p.ops+"/api/v1/channels", "", nil)
	require.Equal(tb, http.StatusOK, code, "%s", answer)
	var page struct{ Channels []pipeline.ChannelStatus }
	require.NoError(tb, json.Unmarshal(answer, &page))
	for _, ch := range page.Channels {
		names = append(names, ch.Channel)
	}
	return names
}

// Three replicas race for the first use of 100 teams: each gets one channel with its own limits, and all replicas show all of them,
// also after a restart.
func TestHundredTeamsGetChannelsOfTheirOwn(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	env := withFile(server.URL, slack.APIURL(), configFile(t, teams("")))
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	var posting sync.WaitGroup
	for r, replica := range replicas {
		posting.Go(func() {
			for i := range 100 {
				team := fmt.Sprintf("t%02d", (i+r*33)%100)
				receipt := replica.post(t, "alerts", []map[string]any{ofTeam(team, fmt.Sprint(r, "a")), ofTeam(team, fmt.Sprint(r, "b"))})
				require.Equal(t, "team-"+team, receipt.Events[0].Channel)
			}
		})
	}
	posting.Wait()
	for _, replica := range replicas {
		require.Eventually(t, func() bool { return len(replica.channelNames(t)) == 101 }, 5*time.Second, 20*time.Millisecond)
	}
	require.Eventually(t, func() bool { return len(slack.Posts()) == 300 }, 30*time.Second, 20*time.Millisecond)
	for i := range 100 {
		require.Len(t, postsTo(slack, fmt.Sprintf("#team-t%02d-alerts", i)), 3, "the limit is that of each team")
	}
	ledger := replicas[1].drained(t, "team-t42", 10*time.Second).Ledger
	require.Equal(t, []int64{6, 3, 3, 3}, []int64{ledger.Received, ledger.Admitted, ledger.Dropped, ledger.Delivered})

	require.Zero(t, replicas[0].stop())
	again := startRelay(t, env...)
	require.Eventually(t, func() bool { return len(again.channelNames(t)) == 101 }, 5*time.Second, 20*time.Millisecond)
	receipt := again.post(t, "alerts", ofTeam("t42", "again"))
	require.Equal(t, 1, receipt.Dropped, "its limits survive a restart")
	cli := append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(again.ops, "http://"))
	drops, stderr, code := runRelay(t, cli, "drops", "list", "--channel", "team-t42")
	require.Zero(t, code, stderr)
	require.Contains(t, drops, "again")
}

// What has no channel of its own goes to the fallback: too many values, invalid ones, and none.
func TestOtherValuesGoToTheFallback(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	env := withFile(server.URL, slack.APIURL(), configFile(t, teams("    max_channels: 10\n    values: \"[a-z-]{1,8}\"\n")))
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	var posting sync.WaitGroup
	for _, replica := range replicas {
		posting.Go(func() {
			for i := range 26 {
				replica.post(t, "alerts", ofTeam(strings.Repeat(string(rune('a'+i)), 2), "racing"))
			}
		})
	}
	posting.Wait()
	for _, replica := range replicas {
		require.Eventually(t, func() bool { return len(replica.channelNames(t)) == 11 }, 5*time.Second, 20*time.Millisecond)
		require.NotEqual(t, "0", replica.metric(t, `relay_template_fallbacks_total{reason="full",template="team-{{team}}"}`))
	}
	instance := replicas[0].channelNames(t)[1]
	team := strings.ToUpper(strings.TrimPrefix(instance, "team-"))
	for value, channel := range map[string]string{team: instance, "muchtoolong": "", "42": "", "": ""} {
		receipt := replicas[1].post(t, "alerts", ofTeam(value, "value "+value))
		require.Equal(t, channel, receipt.Events[0].Channel, "%q", value)
	}
	require.Equal(t, http.StatusNotFound, func() int {
		code, _ := request(t, http.MethodPost, replicas[0].public+"/hooks/"+instance, "", []byte(`{"title": "x"}`))
		return code
	}(), "nobody posts to it directly")
}

// A replica that dies right after it admitted the first event of a team leaves a registered channel and a queued message. Another
// replica, which knows nothing of either, posts the message within a second.
func TestFirstMessageOfATeamSurvivesItsReplica(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	relay := startRelay(t, withFile(server.URL, slack.APIURL(), configFile(t, teams("")))...)
	died := redisstore.New(server.Client(), redisstore.Options{Options: store.Options{Owner: "died"}})
	limit := ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{{Limit: 3, Per: 30 * time.Minute}}}
	var slowest time.Duration
	for i := range 5 {
		value := fmt.Sprint("new", i)
		scope := store.Channel{Name: "team-" + value}
		began := time.Now()
		_, err := died.UseInstance(t.Context(), store.Instance{Name: scope.Name, Template: "team-{{team}}", Value: value}, 200)
		require.NoError(t, err)
		payload := fmt.Sprintf(`{"id": "%d", "channel": %q, "category": "c", "severity": "warning", "title": "left behind"}`, i, scope.Name)
		_, err = died.Admit(t.Context(), scope, []store.Request{{
			Request: ratelimit.Request{ID: "1", Levels: []ratelimit.Level{store.ChannelLevel(limit, scope.Name)}},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(payload)},
		}})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(postsTo(slack, "#team-"+value+"-alerts")) > 0 }, 10*time.Second, 5*time.Millisecond)
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest was posted after %s", slowest)
	require.Less(t, slowest, 2*time.Second)
	require.Equal(t, int64(1), relay.drained(t, "team-new0", 10*time.Second).Ledger.Admitted)
}

// Replicas that die one after the other while they make channels lose none of what they answered for.
func TestKilledReplicasLoseNoTeam(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	env := append(withFile(server.URL, slack.APIURL(), configFile(t, teams(""))), "RELAY_LEASE=6s")
	last := startRelay(t, env...)
	want := 0
	for i := range 3 {
		relay := startRelay(t, env...)
		for j := range 10 {
			receipt := relay.post(t, "alerts", ofTeam(fmt.Sprintf("k%d-%d", i, j), "said"))
			require.Equal(t, 1, receipt.Admitted)
			want++
		}
		relay.kill()
	}
	posted := func() (teams int) {
		for i := range 30 {
			if len(postsTo(slack, fmt.Sprintf("#team-k%d-%d-alerts", i/10, i%10))) > 0 {
				teams++
			}
		}
		return teams
	}
	require.Eventually(t, func() bool { return posted() == want }, 30*time.Second, 20*time.Millisecond)
	require.Len(t, last.channelNames(t), 1+want)
}

// While Redis is away, a replica makes channels by itself. Redis learns of them when it is back, even if it comes back empty.
func TestTeamsAreMadeWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"durable": {"--appendonly", "yes", "--appendfsync", "always"}, "empty": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			madeDuringOutage(t, redistest.Start(t, args...))
		})
	}
}

func madeDuringOutage(t *testing.T, server *redistest.Server) {
	t.Helper()
	slack := startSlack(t)
	env := append(withFile(server.URL, slack.APIURL(), configFile(t, teams("    max_channels: 3\n"))), "RELAY_REPLICAS=1")
	relay := startRelay(t, env...)
	require.Equal(t, 1, relay.post(t, "alerts", ofTeam("before", "1")).Admitted)
	relay.drained(t, "team-before", 10*time.Second)
	server.Kill()
	for _, team := range []string{"before", "during", "too"} {
		receipt := relay.post(t, "alerts", ofTeam(team, "2"))
		require.Equal(t, 1, receipt.Admitted, "%s: %+v", team, receipt)
		require.Equal(t, "team-"+team, receipt.Events[0].Channel)
	}
	require.Empty(t, relay.post(t, "alerts", ofTeam("many", "2")).Events[0].Channel, "the bound holds")
	server.Up()
	require.Eventually(t, func() bool {
		made, err := server.Client().HLen(t.Context(), lua.Instances).Result()
		return err == nil && made == 3
	}, 20*time.Second, 50*time.Millisecond)
	other := startRelay(t, env...)
	require.Eventually(t, func() bool { return len(other.channelNames(t)) == 4 }, 10*time.Second, 50*time.Millisecond)
	for _, team := range []string{"before", "during", "too"} {
		channel := "#team-" + team + "-alerts"
		require.Eventually(t, func() bool { return len(postsTo(slack, channel)) > 0 }, 20*time.Second, 50*time.Millisecond, team)
		require.Zero(t, other.drained(t, "team-"+team, 20*time.Second).Ledger.Imbalance())
	}
	require.Len(t, postsTo(slack, "#team-before-alerts"), 2)
}

// A channel without events for a week is forgotten, unless a drop or a dead letter is still shown.
func TestSilentTeamsAreForgotten(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	env := withFile(server.URL, slack.APIURL(), configFile(t, teams("    category_limit: 1\n    drop_record: 10\n")))
	relay := startRelay(t, env...)
	relay.post(t, "alerts", []map[string]any{
		ofTeam("silent", "1"), ofTeam("dropped", "1"), ofTeam("dropped", "2"), ofTeam("loud", "1"),
	})
	for _, team := range []string{"silent", "dropped", "loud"} {
		relay.drained(t, "team-"+team, 10*time.Second)
	}
	require.Zero(t, relay.stop())
	client := server.Client()
	for _, team := range []string{"silent", "dropped"} { // a week passes
		week := float64(time.Now().Add(-169 * time.Hour).UnixMicro())
		require.NoError(t, client.ZAdd(t.Context(), lua.InstanceUses, redis.Z{Score: week, Member: "team-" + team}).Err())
		keys, err := client.Keys(t.Context(), "relay:{team-"+team+"}:*").Result()
		require.NoError(t, err)
		for _, key := range keys {
			if strings.Contains(key, "minutes") || strings.Contains(key, "series") || strings.Contains(key, "limit") {
				require.NoError(t, client.Del(t.Context(), key).Err())
			}
		}
	}
	relay = startRelay(t, env...)
	require.Eventually(t, func() bool {
		return slices.Equal(relay.channelNames(t), []string{"alerts", "team-dropped", "team-loud"})
	}, 20*time.Second, 50*time.Millisecond)
	require.Zero(t, client.Exists(t.Context(), lua.KeysOf("", "team-silent").Ledger()).Val())
	require.Equal(t, "team-silent", relay.post(t, "alerts", ofTeam("silent", "again")).Events[0].Channel)
	require.Equal(t, int64(1), relay.drained(t, "team-silent", 10*time.Second).Ledger.Received, "it begins again")
}

// Instances follow a changed template. If it is removed, their messages wait until it returns.
func TestTeamsFollowTheirTemplate(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	path := configFile(t, teams(""))
	relay := startRelay(t, append(withFile(server.URL, slack.APIURL(), path), "RELAY_ADMIN_TOKEN=4dm1n")...)
	relay.post(t, "alerts", ofTeam("a", "1"))
	relay.drained(t, "team-a", 10*time.Second)
	rewrite(t, path, strings.Replace(teams(""), "global_limit: 3", "global_limit: 7", 1))
	require.Eventually(t, func() bool { return relay.status(t, "team-a").Levels[0].Limit == 7 }, 10*time.Second, 20*time.Millisecond)

	code, answer := request(t, http.MethodPost, relay.ops+"/api/v1/channels/team-a/pause", "4dm1n", []byte(`{"for": "1h"}`))
	require.Equal(t, http.StatusOK, code, "%s", answer)
	require.Equal(t, 1, relay.post(t, "alerts", ofTeam("a", "kept")).Admitted)
	rewrite(t, path, channelFile(""))
	relay.logs(t, "channel removed")
	require.Equal(t, []string{"alerts"}, relay.channelNames(t))
	rewrite(t, path, teams(""))
	require.Eventually(t, func() bool { return len(relay.channelNames(t)) == 2 }, 10*time.Second, 20*time.Millisecond)
	code, answer = request(t, http.MethodPost, relay.ops+"/api/v1/channels/team-a/resume", "4dm1n", nil)
	require.Equal(t, http.StatusOK, code, "%s", answer)
	require.Eventually(t, func() bool { return len(postsTo(slack, "#team-a-alerts")) == 2 }, 10*time.Second, 20*time.Millisecond)
}

// What a channel of the configuration does, an instance does too: it delays, posts a digest, is silenced, previewed and tested.
func TestTeamsHaveAllThatChannelsHave(t *testing.T) {
	t.Parallel()
	slack, server := startSlack(t), redistest.Start(t)
	file := strings.Replace(teams("    window: 1s\n    overflow: delay\n"), "global_limit: 3", "global_limit: 1", 1) +
		"  - {name: 'env-{{env}}', slack_channel: '#env-{{env}}', fallback: alerts, category_limit: 1, digest_interval: 1s, pace: 1ms}\n"
	file = strings.Replace(file, "rules: [", `rules: [{name: envs, match: [{field: label.env, matches: "."}], `+
		`set: {channel: "env-{{env}}"}, copy_to: ["team-{{team}}"]}, `, 1)
	relay := startRelay(t, append(withFile(server.URL, slack.APIURL(), configFile(t, file)), "RELAY_ADMIN_TOKEN=4dm1n")...)

	receipt := relay.post(t, "alerts", []map[string]any{ofTeam("a", "1"), ofTeam("a", "2"), ofTeam("a", "3")})
	require.Equal(t, []int{1, 2}, []int{receipt.Admitted, receipt.Delayed})
	require.Eventually(t, func() bool { return len(postsTo(slack, "#team-a-alerts")) == 3 }, 15*time.Second, 20*time.Millisecond)

	both := map[string]any{"title": "both", "labels": map[string]string{"env": "prod", "team": "b"}}
	receipt = relay.post(t, "alerts", []map[string]any{both, {"title": "more", "labels": map[string]string{"env": "prod", "team": "b"}}})
	require.Equal(t, []string{"env-prod", "env-prod", "team-b", "team-b"}, []string{
		receipt.Events[0].Channel, receipt.Events[1].Channel, receipt.Events[2].Channel, receipt.Events[3].Channel,
	})
	require.Equal(t, 1, receipt.Dropped, "%+v", receipt)
	require.Eventually(t, func() bool { return len(postsTo(slack, "#env-prod")) == 2 }, 15*time.Second, 20*time.Millisecond, "the digest")

	code, answer := request(t, http.MethodPost, relay.ops+"/api/v1/silences", "4dm1n",
		[]byte(`{"channel": "team-a", "matchers": [{"field": "title", "matches": "."}], "for": "1h", "author": "me", "reason": "test"}`))
	require.Equal(t, http.StatusCreated, code, "%s", answer)
	require.Equal(t, 1, relay.post(t, "alerts", ofTeam("a", "silenced")).Muted)
	require.Equal(t, 1, relay.post(t, "alerts?test=1", ofTeam("c", "tested")).Admitted)
	require.Eventually(t, func() bool { return len(postsTo(slack, "#team-c-alerts")) == 1 }, 15*time.Second, 20*time.Millisecond)
	require.Equal(t, "0", relay.metric(t, `relay_ledger_imbalance{channel="team-a"}`))
}
