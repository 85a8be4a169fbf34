package slackapp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier/fakeslack"
	"slackrelay/slackapp"
)

// A token of a whole organisation knows no names, and each workspace must be given to it.
func TestATokenOfAnOrganisation(t *testing.T) {
	t.Parallel()
	const valid = "ok slack_token: valid, for the bot relay in the organisation Fake\n"
	for name, want := range map[string]string{
		"CMEMBER": valid + "ok channel a: the bot can post to #alerts (CMEMBER)",
		"#alerts": valid + "fault channel a: #alerts is a name, and a token of a whole organisation finds channels by their ids only -> " +
			"set slack_channel to the id, at the bottom of the channel's details in Slack",
		"CWITHHELD": valid + "fault channel a: CWITHHELD is in a workspace that the organisation has not given the app access to -> " +
			"ask an administrator of the organisation to add the app to the workspace",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := workspace(t, all()...)
			slack.OrgWide = true
			slack.Conversations = append(slack.Conversations, fakeslack.Conversation{ID: "CWITHHELD", Name: "far", Withheld: true})
			require.Equal(t, want, inspect(t, slackapp.InspectorOptions{Token: slack.Token, APIURL: slack.APIURL()}, name))
		})
	}
}

// Many channels are listed at once elsewhere. A token of an organisation would have to name each workspace.
func TestChannelsOfAnOrganisationAreNotListed(t *testing.T) {
	t.Parallel()
	slack := workspace(t, all()...)
	slack.OrgWide = true
	inspector := slackapp.NewInspector(slackapp.InspectorOptions{Token: slack.Token, APIURL: slack.APIURL()})
	require.Equal(t, slackapp.OK, slackapp.Worst(inspector.Token(t.Context())))
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = "CMEMBER"
	}
	require.NoError(t, inspector.Expect(t.Context(), ids))
	findings, id := inspector.Channel(t.Context(), "channel a", "CMEMBER")
	require.Equal(t, slackapp.OK, slackapp.Worst(findings))
	require.Equal(t, "CMEMBER", id)
}
