package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// The names of destinations that are not configured channels, which have no "~" in their names.
const (
	operationsName = "~operations"
	fallbackSuffix = "~fallback"
)

// operations returns the destination of notices to the operators, as a channel.
func operations(sender notifier.Sender) Channel {
	return Channel{Name: operationsName, Pace: store.Pace{Every: time.Second, Burst: 3}, Sender: sender}
}

// fallback returns the destination of messages that the channel's own destination rejects permanently, as a channel.
func (c *Channel) fallback() Channel {
	return Channel{
		Name: c.Name + fallbackSuffix, Group: c.group(), Pace: c.Pace, Sender: c.Fallback, Renderer: c.Renderer,
	}
}

// thisHour is part of the id of a notice, so that a lasting problem is reported once an hour.
func thisHour() string { return time.Now().UTC().Format("2006-01-02T15") }

// notify notifies the operators, once for each id.
func (d *delivery) notify(ctx context.Context, id, text, detail string) {
	if d.opts.Operations == nil || d.channel.Name == operationsName {
		return
	}
	notice := notifier.Notice{ID: id, Channel: d.channel.Name, Text: text, Detail: detail}
	bounded, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := putNotice(bounded, d.opts.Outbox, notice); err != nil {
		d.log.ErrorContext(ctx, "operators could not be notified", "notice", text, "error", err)
		return
	}
	d.Wake(operationsName)
}

// putNotice queues a notice to the operators, once for each id.
func putNotice(ctx context.Context, queue NoticeQueue, notice notifier.Notice) error {
	payload, err := json.Marshal(notice)
	if err != nil {
		return fmt.Errorf("encode the notice: %w", err)
	}
	destination := operations(nil)
	return queue.Append(ctx, destination.Scope(), notice.ID, store.KindNotice, payload)
}

// pauseCredential stops all channels of a refused credential for a while.
func (d *delivery) pauseCredential(ctx context.Context, failure *notifier.Error) {
	d.notify(ctx, fmt.Sprintf("token:%s:%s:%s", d.workspace, failure.Reason, thisHour()),
		fmt.Sprintf("Slack refuses the credential of channel %s (%s); nothing is posted with it, and messages are kept",
			d.channel.Name, failure.Reason), failure.Answer)
	if d.workspace == "" {
		return
	}
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	d.opts.Destinations.tokenRefused(ctx, d.workspace, failure)
	if err := d.opts.Budget.PauseCredential(ctx, d.workspace, string(failure.Reason), pauseFor); err != nil {
		d.log.WarnContext(ctx, "refused credential could not be paused for the other channels", "error", err)
	}
}
