package action_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// Who mutes one alert does not mute a category because another alert joined the message before Slack showed it.
func TestMuteOfOneAlertIsNotThatOfAGroup(t *testing.T) {
	t.Parallel()
	r := alone(t)
	one, two := event("1", "f", "disk", events.Firing), event("2", "g", "disk", events.Firing)
	one.Group, two.Group = "group", "group"
	r.admit(one)
	number := r.deliver()
	require.Equal(t, 1, r.admit(two).Merged)
	require.Equal(t, "The message reports more alerts by now, and nothing was done. Look at it, and choose again.",
		r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "4h")).Text)
	require.Nil(t, r.message(number).Muted)
	require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "4h/all")).Text, `category="disk"`)
	require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "4h")).Text, "has muted it already")
	require.Len(t, r.active(), 1)
}
