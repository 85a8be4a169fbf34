package action

import (
	"cmp"
	"context"

	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/store"
)

// mark changes a mark of the request's message. It wakes the sender of the edit.
func (h *Handler) mark(ctx context.Context, r *request, change store.MarkChange) (store.MarkResult, *store.PostedMessage, error) {
	change.Message = r.reference.Number
	change.Place = store.Receipt{Channel: r.Channel, TS: r.Message}
	if !change.Remove {
		change.Mark.User, change.Mark.Name = r.User.ID, cut(r.User.Name)
	}
	result, message, err := h.opts.Messages.Mark(ctx, r.channel.Scope(), change)
	if err == nil && result == store.MarkChanged {
		h.opts.Wake(r.channel.Name)
	}
	return result, message, err
}

// maxName bounds the name of a user, in characters. It has 200 bytes at most.
const maxName = 40

// cut returns the beginning of a user's name.
func cut(name string) string {
	if runes := []rune(name); len(runes) > maxName {
		return string(runes[:maxName])
	}
	return name
}

// acknowledge notes on a message that the user takes care of it. Whoever can click is in the channel, and may.
func (h *Handler) acknowledge(ctx context.Context, r *request) interaction.Answer {
	result, message, err := h.mark(ctx, r, store.MarkChange{Kind: store.MarkAcknowledged})
	switch {
	case err != nil:
		return h.refuse(ctx, r, textUnavailable)
	case result == store.MarkChanged:
		h.audit(ctx, r, "message acknowledged")
		return interaction.Answer{Text: "Acknowledged. Repeats of it stay quiet."}
	case result == store.MarkUnchanged && message.Acknowledged.User == r.User.ID:
		return interaction.Answer{Text: "You have acknowledged it already, at " + at(message.Acknowledged.At) + "."}
	case result == store.MarkUnchanged:
		return interaction.Answer{Text: nameOf(message.Acknowledged) + " was first, at " + at(message.Acknowledged.At) + "."}
	default:
		return h.refuse(ctx, r, notDone(result))
	}
}

// unacknowledge undoes an acknowledgement, whoever made it.
func (h *Handler) unacknowledge(ctx context.Context, r *request) interaction.Answer {
	result, _, err := h.mark(ctx, r, store.MarkChange{Kind: store.MarkAcknowledged, Remove: true})
	switch {
	case err != nil:
		return h.refuse(ctx, r, textUnavailable)
	case result == store.MarkChanged:
		h.audit(ctx, r, "acknowledgement undone")
		return interaction.Answer{Text: "Nobody acknowledges it any more."}
	case result == store.MarkUnchanged:
		return interaction.Answer{Text: "Nobody acknowledges it."}
	default:
		return h.refuse(ctx, r, notDone(result))
	}
}

// nameOf returns the name of the user who made a mark, for a text.
func nameOf(mark *store.Mark) string {
	return notifier.Untrusted(cmp.Or(mark.Name, mark.User), maxName)
}

// notDone says why a mark was not changed.
func notDone(result store.MarkResult) string {
	if result == store.MarkOver {
		return textOver
	}
	return textUnknown
}
