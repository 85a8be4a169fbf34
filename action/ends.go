package action

import (
	"context"
	"time"

	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/silence"
	"slackrelay/store"
)

// EndEvery is how often [Handler.Run] looks for silences whose message is resolved, and for those that ended.
const EndEvery = 5 * time.Second

// Run ends the silences that last until their message is resolved, and removes ended mutes from messages, until ctx ends. Each
// replica does; without silences that were made in Slack, nothing is read.
func (h *Handler) Run(ctx context.Context) {
	ticker := time.NewTicker(EndEvery)
	defer ticker.Stop()
	for {
		h.EndResolved(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// EndResolved ends the silences whose message is resolved, unmuted or forgotten, and removes mutes from messages whose silence ended
// in another way, so that they can be muted again. It is not safe for concurrent use.
func (h *Handler) EndResolved(ctx context.Context) {
	for _, one := range h.opts.Silences.UntilResolved() {
		_, message, err := h.messageOf(ctx, &one)
		if err != nil || isMutedBy(message, &one) && message.IsFiring() {
			continue // without its channel, it lasts until its end
		}
		if err := h.opts.Silences.End(ctx, one); err != nil {
			h.opts.Logger.WarnContext(ctx, "silence of a resolved message could not be ended; trying again", "silence", one.ID, "error", err)
		}
	}
	now, all := h.opts.Silences.Known()
	cleared := map[string]bool{}
	for i := range all {
		one := &all[i]
		if one.Message == "" || now.Sub(one.EndsAt) < EndEvery { // whoever unmutes a message ends the silence first
			continue
		}
		if h.cleared[one.ID] || h.clear(ctx, one) {
			cleared[one.ID] = true
		}
	}
	h.cleared = cleared
}

// clear removes the mute from the message of a silence that ended. done is false if that is to be tried again.
func (h *Handler) clear(ctx context.Context, one *silence.Silence) (done bool) {
	channel, message, err := h.messageOf(ctx, one)
	if err != nil {
		return false
	}
	if !isMutedBy(message, one) {
		return true
	}
	reference, _ := notifier.ParseReference(one.Message) // that messageOf has read
	result, _, err := h.opts.Messages.Mark(ctx, channel.Scope(), store.MarkChange{
		Message: reference.Number, Place: store.Receipt{Channel: message.Channel, TS: message.TS},
		Kind: store.MarkMuted, Remove: true, Mark: store.Mark{Silence: one.ID},
	})
	if err == nil && result == store.MarkChanged {
		h.opts.Wake(channel.Name)
	}
	return err == nil
}

// messageOf returns the message that a silence is of, and its channel; nil = it is forgotten.
func (h *Handler) messageOf(ctx context.Context, one *silence.Silence) (pipeline.Channel, *store.PostedMessage, error) {
	reference, err := notifier.ParseReference(one.Message)
	if err != nil {
		return pipeline.Channel{}, nil, err //nolint:wrapcheck // of this program
	}
	channel, err := h.opts.Archive.Channel(reference.Channel)
	if err != nil {
		return pipeline.Channel{}, nil, err //nolint:wrapcheck // as above
	}
	message, err := h.opts.Messages.PostedMessage(ctx, channel.Scope(), reference.Number)
	return channel, message, err //nolint:wrapcheck // as above
}

// isMutedBy reports whether a message shows the mute that a silence is of.
func isMutedBy(message *store.PostedMessage, one *silence.Silence) bool {
	return message != nil && message.Muted != nil && message.Muted.Silence == one.ID
}
