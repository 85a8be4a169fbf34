package notifier_test

import (
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// The address of a button is no text, so that it has no escapes.
func TestRunbookButtonOpensTheAddressAsItIs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://wiki.example/run?team=db&page=2": "https://wiki.example/run?team=db&page=2",
		"https://wiki.example/a|b<c>":             "https://wiki.example/a%7Cb%3Cc%3E",
	} {
		m := notifier.Renderer{Buttons: true}.Notification(notifier.Notification{
			Reference: notifier.Reference{Channel: "alerts", Number: 1},
			Events: []notifier.NotificationEvent{{Event: events.Event{
				Title: "disk full", Status: events.Firing, Fingerprint: "f", Links: []events.Link{{Title: "Runbook", URL: address}},
			}}},
		})
		row, ok := m.Blocks[len(m.Blocks)-1].(*slack.ActionBlock)
		require.True(t, ok)
		opens, ok := row.Elements.ElementSet[len(row.Elements.ElementSet)-1].(*slack.ButtonBlockElement)
		require.True(t, ok)
		require.Equal(t, want, opens.URL)
	}
}
