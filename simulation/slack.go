package simulation

import (
	"context"
	"strconv"

	"slackrelay/notifier"
)

// incomingWebhook is a destination that accepts every message at once, and edits none.
type incomingWebhook struct{}

// Send implements [notifier.Sender].
func (incomingWebhook) Send(context.Context, notifier.Message) (notifier.Receipt, error) {
	return notifier.Receipt{}, nil
}

// bot is a destination that accepts every message and every edit at once.
type bot struct{ posted int }

// Send implements [notifier.Sender].
func (b *bot) Send(context.Context, notifier.Message) (notifier.Receipt, error) {
	b.posted++
	return notifier.Receipt{Channel: "C0", TS: strconv.Itoa(b.posted)}, nil
}

// Edit implements [notifier.Editor].
func (*bot) Edit(context.Context, notifier.Receipt, notifier.Message) error { return nil }

func slackOf(edits bool) notifier.Sender {
	if edits {
		return &bot{}
	}
	return incomingWebhook{}
}
