package interaction_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/interaction"
)

func TestClickOverASocketIsVerifiedHandledAndAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.answer = interaction.Answer{Text: "You acknowledged it."}
	r := b.start(t, "one", b.app())
	b.sockets(t, 1)
	ts := b.message(t)
	require.NoError(t, b.slack.Click("U0ANNA", ts, "relay_acknowledge"))
	require.Equal(t, []interaction.Click{{
		Place: interaction.Place{
			Workspace: "T0001", Channel: "C0ALERTS", Message: ts, User: interaction.User{ID: "U0ANNA", Name: "u0anna"},
		},
		Action: "relay_acknowledge", Value: "alerts/1234",
	}}, b.stub.all())
	require.Eventually(t, func() bool { return len(b.slack.Answers("U0ANNA")) == 1 }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, "You acknowledged it.", b.slack.Answers("U0ANNA")[0].Text)

	require.NoError(t, b.slack.Command("U0ANNA", "C0ALERTS", "status"))
	require.Len(t, b.slack.Answers("U0ANNA"), 2, "in the acknowledgement")
	require.Equal(t, "status", b.stub.commands[0].Text)
	r.stop()
	require.Equal(t, map[string]float64{"click done": 1, "command done": 1}, r.counts(t))
	require.NotContains(t, b.log.text(), "hush")
	b.sockets(t, 0)
}

// Three replicas: two hold sockets, and whichever die, others take over, so that each click is handled.
func TestSocketsAreTakenOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replicas := []replica{b.start(t, "a", b.app()), b.start(t, "b", b.app()), b.start(t, "c", b.app())}
	b.sockets(t, 2)
	ts := b.message(t)
	var took []time.Duration
	click := func() {
		started := time.Now()
		require.NoError(t, b.slack.Click("U0ANNA", ts, "relay_acknowledge"))
		took = append(took, time.Since(started))
	}
	for i := range 30 {
		click()
		if i%6 == 0 {
			require.True(t, b.slack.KillSocket())
			require.Eventually(t, func() bool { return b.slack.Sockets() >= 1 }, 5*time.Second, time.Millisecond)
		}
	}
	b.slack.RefreshSocket("refresh_requested")
	b.sockets(t, 2)
	replicas[0].stop() // whether or not it holds one
	b.sockets(t, 2)
	click()
	replicas[1].stop()
	b.sockets(t, 1)
	click()
	require.Len(t, b.stub.all(), 32)
	slices.Sort(took)
	t.Logf("clicks acknowledged: median %s, 99th percentile %s", took[len(took)/2], took[len(took)*99/100])
	require.Less(t, took[len(took)-1], 3*time.Second)
	require.Empty(t, replicas[2].Reasons())
}

// A flood of clicks gets as far as there is room, and what is in flight stays bounded.
func TestFloodOfClicksIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.start(t, "one", b.app())
	b.sockets(t, 1)
	ts := b.message(t)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { _ = b.slack.Click("U0ANNA", ts, "relay_acknowledge") })
	}
	all.Wait()
	r.stop()
	require.LessOrEqual(t, len(b.stub.all()), 200*3)
	counts := r.counts(t)
	require.InDelta(t, len(b.stub.all()), counts["click done"]+counts["click late"], 0)
}

func TestRefusedAppTokenIsOneSentenceAndNoFlood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.app()
	app.AppToken = "xapp-1-A0001-2-revoked"
	r := b.start(t, "one", app)
	require.Eventually(t, func() bool { return len(b.log.text()) > 0 }, 5*time.Second, 5*time.Millisecond)
	time.Sleep(1500 * time.Millisecond) // real time: what would be repeated, would be by now
	r.stop()
	require.Regexp(t, `^time=\S+ level=WARN msg="no socket to slack" app=slack_token `+
		`why="slack_app_token is not known to Slack; copy the app-level token of the app's page Basic Information; `+
		`it begins with xapp-"\n$`, b.log.text())
}
