package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// A message of a tool that speaks Slack is changed, and answered in its thread, by the credential that posted it.
func TestUpdatesAreOfTheCredentialThatPosted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		ch := channel("a", to)
		ch.Handling = &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
		b := setup(nil, ch)
		say := func(id, scope string, m events.SlackMessage) pipeline.Receipt {
			receipt, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: scope, Events: []events.Event{{
				ID: id, Source: "slack", Category: "c", Severity: events.Info, Title: id, Scope: scope, Slack: &m,
			}}})
			require.NoError(t, err)
			b.run(t, 5*time.Second)
			return receipt
		}
		require.Equal(t, 1, say("1", "a/bear", events.SlackMessage{Text: "x", TS: "1700000000.000100"}).Admitted)
		require.Equal(t, 1, say("2", "a/url", events.SlackMessage{Text: "PWNED", TS: "1700000000.000100", Update: true}).Dropped)
		require.Equal(t, 1, say("3", "", events.SlackMessage{Text: "PWNED", TS: "1700000000.000100", Update: true}).Dropped)
		require.Equal(t, 1, say("4", "", events.SlackMessage{Text: "PWNED", TS: "a/bear\x001700000000.000100", Update: true}).Dropped, "a name cannot hold the credential")
		require.Equal(t, 1, say("5", "a/bear", events.SlackMessage{Text: "y", TS: "1700000000.000100", Update: true}).Merged)
		require.Equal(t, 1, say("6", "a/url", events.SlackMessage{Text: "answer", TS: "1700000000.000200", Thread: "1700000000.000100"}).Admitted)
		require.Equal(t, 1, say("7", "a/bear", events.SlackMessage{Text: "answer", TS: "1700000000.000300", Thread: "1700000000.000100"}).Admitted)
		require.Equal(t, []string{"", "", "1.000001"}, to.thread)
	})
}

// The id of one credential is none of another's.
func TestIdsAreOfTheirScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		take := func(scope, id string) pipeline.Receipt {
			receipt, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{
				ID: id, Source: "generic", Category: "c", Severity: events.Info, Title: "x", Scope: scope,
			}}})
			require.NoError(t, err)
			return receipt
		}
		require.Equal(t, 1, take("", "deploy-42").Admitted)
		require.Equal(t, 1, take("a/low", "deploy-42").Admitted)
		require.Equal(t, 1, take("a/high", "deploy-42").Admitted)
		require.Equal(t, 1, take("a/low", "deploy-42").Duplicate)
		require.Equal(t, 1, take("", "deploy-42").Duplicate)
		require.Equal(t, 1, take("", "deploy-43\x00a/low").Admitted)
		require.Equal(t, 1, take("a/low", "deploy-43").Admitted)
	})
}
