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

func TestOnlyTheCredentialThatPostedAMessageEditsOrAnswersIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		ch := channel("a", to)
		ch.Handling = &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
		b := setup(nil, ch)
		post := func(id, scope string, m events.SlackMessage) pipeline.Receipt {
			receipt, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: scope, Events: []events.Event{{
				ID: id, Source: "slack", Category: "c", Severity: events.Info, Title: id, Scope: scope, Slack: &m,
			}}})
			require.NoError(t, err)
			b.run(t, 5*time.Second)
			return receipt
		}
		const ts = "1700000000.000100"
		update := events.SlackMessage{Text: "forged", TS: ts, Update: true}
		require.Equal(t, 1, post("1", "a/bear", events.SlackMessage{Text: "x", TS: ts}).Admitted)
		require.Equal(t, 1, post("2", "a/url", update).Dropped)
		require.Equal(t, 1, post("3", "", update).Dropped)
		update.TS = "a/bear\x00" + ts
		require.Equal(t, 1, post("4", "", update).Dropped, "a name cannot contain a credential")
		require.Equal(t, 1, post("5", "a/bear", events.SlackMessage{Text: "y", TS: ts, Update: true}).Merged)
		require.Equal(t, 1, post("6", "a/url", events.SlackMessage{Text: "answer", TS: "1700000000.000200", Thread: ts}).Admitted)
		require.Equal(t, 1, post("7", "a/bear", events.SlackMessage{Text: "answer", TS: "1700000000.000300", Thread: ts}).Admitted)
		require.Equal(t, []string{"", "", "1.000001"}, to.thread)
	})
}

func TestEventIDsOfTwoCredentialsDoNotCollide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		admit := func(scope, id string) pipeline.Receipt {
			receipt, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{
				ID: id, Source: "generic", Category: "c", Severity: events.Info, Title: "x", Scope: scope,
			}}})
			require.NoError(t, err)
			return receipt
		}
		require.Equal(t, 1, admit("", "deploy-42").Admitted)
		require.Equal(t, 1, admit("a/low", "deploy-42").Admitted)
		require.Equal(t, 1, admit("a/high", "deploy-42").Admitted)
		require.Equal(t, 1, admit("a/low", "deploy-42").Duplicate)
		require.Equal(t, 1, admit("", "deploy-42").Duplicate)
		require.Equal(t, 1, admit("", "deploy-43\x00a/low").Admitted)
		require.Equal(t, 1, admit("a/low", "deploy-43").Admitted)
	})
}
