package action_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/silence"
	"slackrelay/store/memory"
)

func TestForgedClicksAreRefused(t *testing.T) {
	t.Parallel()
	r := alone(t)
	r.channels = channelsOf(&destination{channel: "C1", token: "one", team: "T1"})
	other := channelsOf(&destination{channel: "C2", token: "two", team: "T2"})
	other[0].Name = "other"
	r = newReplica(t, r.store, silence.NewMemory(nil), r.logs, append(r.channels, other...))
	r.admit(event("1", "f", "disk", events.Firing))
	number := r.deliver()
	r.admit(event("2", "g", "cpu", events.Firing), event("3", "h", "cpu", events.Firing), event("4", "i", "cpu", events.Firing))
	for name, row := range map[string]struct {
		change func(c *interaction.Click)
		want   string
	}{
		"another Slack channel": {func(c *interaction.Click) { c.Channel = "C2" }, "belongs to another Slack channel"},
		"another message":       {func(c *interaction.Click) { c.Message = "9.000001" }, "belongs to another Slack channel"},
		"an answer":             {func(c *interaction.Click) { c.Message = "" }, "belongs to another Slack channel"},
		"another workspace":     {func(c *interaction.Click) { c.Workspace = "T2" }, "belongs to another Slack channel"},
		"another channel": {func(c *interaction.Click) {
			c.Value = fmt.Sprint("other/", number)
		}, "belongs to another Slack channel"},
		"unknown number":          {func(c *interaction.Click) { c.Value = "alerts/999" }, "not known any more"},
		"channel that is removed": {func(c *interaction.Click) { c.Value = fmt.Sprint("team-x/", number) }, "does not have this message's"},
		"no value":                {func(c *interaction.Click) { c.Value = "" }, "not one of the relay's"},
		"no number":               {func(c *interaction.Click) { c.Value = "alerts/x" }, "not one of the relay's"},
		"negative number":         {func(c *interaction.Click) { c.Value = "alerts/-1" }, "not one of the relay's"},
		"number in another form":  {func(c *interaction.Click) { c.Value = fmt.Sprint("alerts/0", number) }, "not one of the relay's"},
		"unknown button":          {func(c *interaction.Click) { c.Action = "delete" }, "not one of the relay's"},
		"forever": {func(c *interaction.Click) {
			c.Action, c.Value = notifier.ActionMute, c.Value+"/9999h"
		}, "not one of the relay's"},
		"no digest": {func(c *interaction.Click) {
			c.Action, c.Value = notifier.ActionMuteCategory, c.Value+"/1h/disk"
		}, "not one of the relay's"},
		"drops of no digest": {func(c *interaction.Click) { c.Action = notifier.ActionShowDrops }, "not one of the relay's"},
		"a drop of no digest": {func(c *interaction.Click) {
			c.Action, c.Value = notifier.ActionPost, c.Value+"/1-0"
		}, "not one of the relay's"},
		"nobody's user": {func(c *interaction.Click) {
			c.User.ID, c.Action, c.Value = "USOMEBODY", notifier.ActionMute, c.Value+"/1h"
		}, "You may not do that. Ask <@UBOSS>, <!subteam^SOPS>."},
	} {
		t.Run(name, func(t *testing.T) {
			before := r.logs.count("what=refused")
			one := click("UBOSS", notifier.ActionAcknowledge, number, "")
			row.change(&one)
			answer := r.Click(t.Context(), one)
			require.Contains(t, answer.Text, row.want)
			require.Empty(t, answer.Blocks)
			require.Equal(t, before+1, r.logs.count("what=refused"))
			require.Nil(t, r.message(number).Acknowledged)
			require.Nil(t, r.message(number).Muted)
			require.Empty(t, r.active())
		})
	}
	r.admit(event("5", "f", "disk", events.Resolved))
	for _, button := range []string{notifier.ActionAcknowledge, notifier.ActionUnacknowledge} {
		require.Equal(t, "It is resolved already. Nothing was done.", r.Click(t.Context(), click("UBOSS", button, number, "")).Text)
	}
	require.Empty(t, r.Click(t.Context(), click("UBOSS", notifier.ActionRunbook, number, "")), "it only opens a page")
}

func TestOperatorsAreUsersAndMembersOfGroups(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		user      string
		operators []string
		err       error
		want      string
	}{
		{"UBOSS", []string{"UBOSS"}, nil, "Muted until"},
		{"UGROUP1", []string{"UBOSS", "SOPS"}, nil, "Muted until"},
		{"UBOSS", []string{"SOPS", "UBOSS"}, errors.New("x"), "Muted until"},
		{"UOTHER", []string{"UBOSS", "SNOT"}, nil, "You may not do that. Ask <@UBOSS>, <!subteam^SNOT>."},
		{"UOTHER", []string{"SOPS"}, errors.New("x"), "cannot read who is in <!subteam^SOPS>"},
		{"UOTHER", nil, nil, "has no operators"},
	} {
		channels := channelsOf(&destination{channel: "C1", token: "one", team: "T1", groupErr: row.err})
		channels[0].Operators = row.operators
		r := newReplica(t, memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), silence.NewMemory(nil), &logs{}, channels)
		r.admit(event("1", "f", "disk", events.Firing))
		number := r.deliver()
		require.Contains(t, r.Click(t.Context(), click(row.user, notifier.ActionMute, number, "1h")).Text, row.want)
		require.Contains(t, r.Click(t.Context(), click(row.user, notifier.ActionAcknowledge, number, "")).Text, "Acknowledged", "everybody may")
	}
}

func TestMuteMutesTheAlertUntilItEnds(t *testing.T) {
	t.Parallel()
	r := alone(t)
	r.admit(event("1", "f", "disk", events.Firing))
	number := r.deliver()
	require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "resolved")).Text, "Muted until it is resolved")
	require.Contains(t, r.Click(t.Context(), click("UGROUP1", notifier.ActionMute, number, "1h")).Text, "name-UBOSS has muted it already")
	require.Equal(t, 1, r.admit(event("2", "f", "disk", events.Firing)).Muted)
	require.Equal(t, 1, r.admit(event("3", "g", "disk", events.Firing)).Admitted, "another alert of the category")
	r.EndResolved(t.Context())
	require.Len(t, r.active(), 1, "it still fires")
	again := event("4", "f", "disk", events.Firing)
	again.StartedAt = time.Now().Add(time.Second)
	require.Equal(t, 1, r.admit(event("5", "f", "disk", events.Resolved)).Merged, "the message shows the end")
	require.Equal(t, 1, r.admit(event("6", "f", "disk", events.Firing)).Muted, "nobody has looked yet")
	require.Zero(t, r.admit(again).Muted, "another problem")
	r.EndResolved(t.Context())
	require.Empty(t, r.active())
	require.Zero(t, r.admit(event("7", "f", "disk", events.Firing)).Muted)
}

func TestMuteOfAGroupMutesItsCategories(t *testing.T) {
	t.Parallel()
	r := alone(t)
	one, two := event("1", "f", "disk", events.Firing), event("2", "g", "disk", events.Firing)
	one.Group, two.Group = "group", "group"
	require.Equal(t, 1, r.admit(one, two).Merged)
	number := r.deliver()
	require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "4h/all")).Text, `category="disk"`)
	require.Equal(t, 1, r.admit(event("3", "h", "disk", events.Firing)).Muted)
	require.Zero(t, r.admit(event("4", "i", "cpu", events.Firing)).Muted)
	require.Equal(t, 1, r.admit(event("5", "f", "disk", events.Resolved)).Merged)
	require.Equal(t, "It is not muted any more.", r.Click(t.Context(), click("UBOSS", notifier.ActionUnmute, number, "")).Text)
	require.Equal(t, "It is not muted.", r.Click(t.Context(), click("UBOSS", notifier.ActionUnmute, number, "")).Text)
	require.Empty(t, r.active())
}

func TestHeldBackEventsArePaged(t *testing.T) {
	t.Parallel()
	r := alone(t)
	digest := r.withDigest()
	shown := r.Click(t.Context(), click("UOTHER", notifier.ActionShowDrops, digest, ""))
	require.False(t, shown.Replace)
	require.NotEmpty(t, shown.Blocks, shown.Text)
	seen := map[string]int{}
	for turns := 0; ; turns++ {
		next := ""
		for _, block := range shown.Blocks {
			switch b := block.(type) {
			case *slack.SectionBlock:
				seen[b.Text.Text]++
			case *slack.ActionBlock:
				for _, element := range b.Elements.ElementSet {
					if one, ok := element.(*slack.ButtonBlockElement); ok && one.Text.Text == "Next" {
						next = one.Value
					}
				}
			}
		}
		encoded, err := json.Marshal(shown.Blocks)
		require.NoError(t, err)
		require.Less(t, len(encoded), 20<<10)
		if next == "" {
			require.Equal(t, 2, turns)
			break
		}
		turn := click("UOTHER", notifier.ActionShowDrops, digest, "")
		turn.Message, turn.Value = "", next
		shown = r.Click(t.Context(), turn)
		require.True(t, shown.Replace)
	}
	require.Len(t, seen, 13, "12 drops and a headline")
	require.Equal(t, 3, seen["*12 held back in alerts*"])
	for text := range seen {
		require.Regexp(t, `^(\*12 held back|🟠 \*title of \d+\*\ndisk: the limit of the category was reached: 2 of 2 used; )`, text)
	}
	require.Contains(t, r.Click(t.Context(), click("UOTHER", notifier.ActionPost, digest, "1-0")).Text, "You may not do that")
	require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionPost, digest, "1-0")).Text, "not recorded any more")
	for range 2 {
		answer := r.Click(t.Context(), click("UBOSS", notifier.ActionMuteCategory, digest, "1h/disk"))
		require.Contains(t, answer.Text, "disk is muted in alerts until")
	}
	require.Len(t, r.active(), 1)
	require.Equal(t, 1, r.logs.count("silence created"))
}

func TestCommandsAnswerForTheChannelThatPostsHere(t *testing.T) {
	t.Parallel()
	r := alone(t)
	r.withDigest()
	drops, err := r.store.Drops(t.Context(), r.channels[0].Scope(), "", 1)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"": "/relay status", "help": "/relay status", "delete all": "`delete` is not a word of the relay's",
		"status": "channel: 2 of 20 slots used", "status in alerts": "14 received: 2 admitted, 12 dropped",
		"status in other": "No channel of the relay",
		"drops":           "title of 13", "why": "Write `/relay why ID`", "why 13": "the limit of the category was reached: 2 of 2 used",
		"why " + drops[0].ID: "title of 13", "why nothing": "No drop is recorded under that id", "silences": "Nothing is muted in alerts",
		"silence disk": "Write `/relay silence", "silence disk 2": "is not a duration", "silence disk 9999h": "is not a duration",
	} {
		answer := r.Command(t.Context(), command("UOTHER", text))
		require.Contains(t, answer.Text, want, text)
		require.Less(t, len(answer.Text), 19<<10)
	}
	require.Contains(t, r.Command(t.Context(), command("UOTHER", "silence disk 2h")).Text, "You may not do that")
	for range 2 {
		require.Contains(t, r.Command(t.Context(), command("UBOSS", "silence disk 2h")).Text, "disk is muted in alerts until")
	}
	require.Len(t, r.active(), 1, "Slack may repeat it")
	require.Contains(t, r.Command(t.Context(), command("UOTHER", "silences")).Text, `category="disk" until`)
	elsewhere := command("UBOSS", "status")
	elsewhere.Channel = "C9"
	require.Contains(t, r.Command(t.Context(), elsewhere).Text, "No channel of the relay")

	second := channelsOf(r.channels[0].Sender)
	second[0].Name = "second"
	both := newReplica(t, r.store, silence.NewMemory(nil), &logs{}, append(r.channels, second...))
	require.Contains(t, both.Command(t.Context(), command("U1", "status")).Text, "`in alerts`, `in second`")
	require.Contains(t, both.Command(t.Context(), command("U1", "status in second")).Text, "*second* sends")
}

func FuzzValues(f *testing.F) {
	for _, value := range []string{
		"alerts/1", "alerts/1/1h", "alerts/1/0.1-0", "alerts/1/1h/disk", "alerts//", "/1", "alerts/1/", "alerts/9223372036854775808",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		reference, err := notifier.ParseReference(value)
		if err == nil {
			require.Equal(t, value, reference.String())
		}
		r := alone(t)
		r.admit(event("1", "f", "disk", events.Firing))
		number := r.deliver()
		for _, button := range []string{
			notifier.ActionUnacknowledge, notifier.ActionMute, notifier.ActionUnmute, notifier.ActionShowDrops, notifier.ActionPost,
			notifier.ActionMuteCategory,
		} {
			one := click("UOTHER", button, number, "")
			one.Value = value
			require.NotEmpty(t, r.Click(t.Context(), one).Text)
		}
		require.Nil(t, r.message(number).Muted)
		require.Empty(t, r.active())
	})
}
