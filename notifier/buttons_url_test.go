package notifier_test

import (
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// The address of a button is not mrkdwn, and Slack refuses a message with one of more than 3000 characters.
func TestTheRunbookButtonOpensTheAddressAsItIs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][]string{
		"https://wiki.example/page?a=1&b=2&amp;c":                {"https://wiki.example/page?a=1&b=2&amp;c"},
		"https://wiki.example/" + strings.Repeat("\u200b|", 460): nil,
	} {
		e := events.Event{
			ID: "1", Title: "Disk", Category: "disk", Status: events.Firing, Fingerprint: "f",
			Links: []events.Link{{Title: "Runbook", URL: address}},
		}
		m := notifier.Renderer{Buttons: true}.Notification(notifier.Notification{
			Events: []notifier.NotificationEvent{{Event: e}}, Reference: notifier.Reference{Channel: "alerts", Number: 1},
		})
		var opens []string
		row, _ := m.Blocks[len(m.Blocks)-1].(*slack.ActionBlock)
		for _, element := range row.Elements.ElementSet {
			if one, ok := element.(*slack.ButtonBlockElement); ok && one.ActionID == notifier.ActionRunbook {
				opens = append(opens, one.URL)
			}
		}
		require.Equal(t, want, opens)
	}
}
