package pipeline

import (
	"context"
	"fmt"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/silence"
)

// mutedIn returns what a silence has muted in a channel since its document was written; nil = it is in too many channels. n.mu is
// locked.
func (n *SilenceNotices) mutedIn(id, channel string) *silencedEvents {
	channels := n.muted[id]
	if channels == nil {
		channels = map[string]*silencedEvents{}
		n.muted[id] = channels
	}
	if channels[channel] == nil && len(channels) < maxSilenceChannels {
		channels[channel] = &silencedEvents{}
	}
	return channels[channel]
}

// passed notes the events that nothing mutes. A silence that lets the resolve of an alert pass may have muted the alert before.
func (n *SilenceNotices) passed(all []events.Event, mutedBy []string) {
	if n == nil {
		return
	}
	for i := range all {
		e := &all[i]
		if mutedBy[i] != "" || e.Status != events.Resolved || !isAlert(e) || isLane(e.Channel) {
			continue
		}
		for _, id := range n.opts.Silences.Passes(e) {
			n.mu.Lock()
			if muted := n.mutedIn(id, e.Channel); muted != nil {
				muted.follow(problemKey(e), false)
			}
			n.mu.Unlock()
		}
	}
}

// settle takes the alert of a message that was muted by its button from what still fires, if the message is resolved: the resolve may
// have passed through a replica that did not know the silence yet.
func (n *SilenceNotices) settle(ctx context.Context, one *silence.Silence, now time.Time, state *silenceState) error {
	if !one.Problem || state.Over || momentOf(one, now).phase != silenceEnded {
		return nil
	}
	reference, err := notifier.ParseReference(one.Message)
	if err != nil {
		return nil //nolint:nilerr // it is of no message
	}
	ch := n.opts.Channel(reference.Channel)
	if ch == nil {
		return nil
	}
	message, err := n.opts.Outbox.PostedMessage(ctx, ch.Scope(), reference.Number)
	if err != nil {
		return fmt.Errorf("read message %s: %w", one.Message, err)
	}
	if muted := state.Channels[reference.Channel]; message != nil && !message.IsFiring() && muted != nil {
		muted.Firing = nil
	}
	return nil
}
