package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// The names of what is no channel: no channel can be called so.
const (
	operationsName = "~operations"
	fallbackSuffix = "~fallback"
)

// operations is where the operators of the relay are told, as a channel.
func operations(sender notifier.Sender) Channel {
	return Channel{Name: operationsName, Pace: store.Pace{Every: time.Second, Burst: 3}, Sender: sender}
}

// fallback is where messages go that the channel's own destination refuses for good.
func (c Channel) fallback() Channel {
	return Channel{
		Name: c.Name + fallbackSuffix, Group: c.group(), Pace: c.Pace, Sender: c.Fallback, Renderer: c.Renderer,
	}
}

// thisHour makes the id of a notice one of its hour: what goes on is told once an hour.
func thisHour() string { return time.Now().UTC().Format("2006-01-02T15") }

// tell tells the operators, once for each id.
func (d *delivery) tell(ctx context.Context, id, text, detail string) {
	if d.opts.Operations == nil || d.channel.Name == operationsName {
		return
	}
	notice := notifier.Notice{ID: id, Channel: d.channel.Name, Text: text, Detail: detail}
	bounded, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := putNotice(bounded, d.opts.Outbox, notice); err != nil {
		d.log.ErrorContext(ctx, "the operators could not be told", "notice", text, "error", err)
		return
	}
	d.Wake(operationsName)
}

// putNotice queues a notice for the operators, once for each id.
func putNotice(ctx context.Context, box store.Outbox, notice notifier.Notice) error {
	payload, err := json.Marshal(notice)
	if err != nil {
		return fmt.Errorf("encode the notice: %w", err)
	}
	return box.Append(ctx, operations(nil).scope(), notice.ID, store.KindNotice, payload)
}

// stopToken lets no channel use the credential for a while.
func (d *delivery) stopToken(ctx context.Context, failure *notifier.Error) {
	d.tell(ctx, fmt.Sprintf("token:%s:%s:%s", d.workspace, failure.Reason, thisHour()),
		fmt.Sprintf("Slack refuses the credential of channel %s (%s); nothing is posted with it, and messages are kept", d.channel.Name, failure.Reason),
		failure.Answer)
	if d.workspace == "" {
		return
	}
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := d.opts.Budget.PauseCredential(ctx, d.workspace, string(failure.Reason), stopFor); err != nil {
		d.log.WarnContext(ctx, "the other channels of a refused credential could not be told", "error", err)
	}
}
