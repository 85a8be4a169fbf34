package action

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/silence"
	"slackrelay/store"
)

// durations are for how long one can mute, by the argument of a button; 0 = until the message is resolved.
var durations = map[string]time.Duration{"1h": time.Hour, "4h": 4 * time.Hour, notifier.UntilResolved: 0}

// mute mutes what a message reports. The message says so first: of several users one is noted, and the silence follows from what is
// noted, so that whoever repeats it makes the same silence.
func (h *Handler) mute(ctx context.Context, r *request) interaction.Answer {
	duration, refusal := h.mayMute(ctx, r)
	if refusal != "" {
		return h.refuse(ctx, r, refusal)
	}
	result, message, err := h.mark(ctx, r, store.MarkChange{
		Kind: store.MarkMuted, For: duration, Mark: store.Mark{Silence: "slack-" + rand.Text()},
	})
	switch {
	case err != nil:
		return h.refuse(ctx, r, textUnavailable)
	case result != store.MarkChanged && result != store.MarkUnchanged:
		return h.refuse(ctx, r, notDone(result))
	}
	one, err := silenceOf(r.reference, message)
	if err == nil {
		_, err = h.opts.Silences.Ensure(ctx, one)
	}
	if err != nil {
		return h.refuse(ctx, r, h.notMuted(ctx, r, message.Muted, err))
	}
	if result == store.MarkUnchanged {
		return interaction.Answer{Text: nameOf(message.Muted) + " has muted it already, " + until(message.Muted) + "."}
	}
	h.audit(ctx, r, "message muted", "silence", one.ID, "matchers", fmt.Sprint(one.Matchers), "ends_at", one.EndsAt)
	return interaction.Answer{Text: "Muted " + until(message.Muted) + ": " + notifier.Untrusted(describe(one.Matchers), maxText) + "."}
}

// mayMute returns for how long the user may mute the message, or what is wrong with that. Who chose to mute one alert does not mute
// categories because other alerts have joined the message since.
func (h *Handler) mayMute(ctx context.Context, r *request) (duration time.Duration, refusal string) {
	length, ofCategories := strings.CutSuffix(r.reference.Argument, notifier.OfCategories)
	duration, known := durations[length]
	if !known {
		return 0, textNoButton
	}
	if refusal := h.mustOperate(ctx, r); refusal != "" {
		return 0, refusal
	}
	if !ofCategories && r.message.Muted == nil && !isOfOneAlert(r.message) {
		return 0, "The message reports more alerts by now, and nothing was done. Look at it, and choose again."
	}
	return duration, ""
}

// notMuted says why there is no silence. Unless that is uncertain, the message does not show the mute either.
func (h *Handler) notMuted(ctx context.Context, r *request, mark *store.Mark, err error) string {
	why := noSilence(err)
	if why == textUnavailable {
		return why
	}
	_, _, err = h.mark(ctx, r, store.MarkChange{Kind: store.MarkMuted, Remove: true, Mark: store.Mark{Silence: mark.Silence}})
	if err != nil {
		return textUnavailable
	}
	return why
}

// noSilence says why a silence was not made. What a store says of its connection is for the log alone.
func noSilence(err error) string {
	if errors.Is(err, silence.ErrInvalid) || errors.Is(err, silence.ErrTooMany) {
		return "It cannot be muted: " + notifier.Untrusted(err.Error(), maxText) + ". Nothing was done."
	}
	return textUnavailable
}

// maxText bounds what an answer quotes, in characters.
const maxText = 300

// unmute ends the silence that the message's mute made, and removes the mute.
func (h *Handler) unmute(ctx context.Context, r *request) interaction.Answer {
	if refusal := h.mustOperate(ctx, r); refusal != "" {
		return h.refuse(ctx, r, refusal)
	}
	muted := r.message.Muted
	if muted == nil {
		return interaction.Answer{Text: "It is not muted."}
	}
	one, err := silenceOf(r.reference, r.message)
	if err == nil {
		err = h.opts.Silences.End(ctx, one)
	}
	if err != nil {
		return h.refuse(ctx, r, textUnavailable)
	}
	result, _, err := h.mark(ctx, r, store.MarkChange{Kind: store.MarkMuted, Remove: true, Mark: store.Mark{Silence: muted.Silence}})
	if err != nil {
		return h.refuse(ctx, r, textUnavailable)
	}
	if result == store.MarkChanged {
		h.audit(ctx, r, "message unmuted", "silence", one.ID)
	}
	return interaction.Answer{Text: "It is not muted any more."}
}

// until says when a mute ends.
func until(mark *store.Mark) string {
	if mark.Until == 0 {
		return "until it is resolved"
	}
	return "until " + at(mark.Until)
}

// silenceOf returns the silence that follows from the mute of a message. A message of one alert mutes that alert; one of several
// mutes their categories, because further alerts may join the message.
func silenceOf(reference notifier.Reference, message *store.PostedMessage) (silence.Silence, error) {
	reference.Argument = ""
	mark := message.Muted
	one := silence.Silence{
		ID: mark.Silence, Channel: reference.Channel, Message: reference.String(), FiringOnly: true, UntilResolved: mark.Until == 0,
		StartsAt: time.UnixMicro(mark.At).UTC(), EndsAt: time.UnixMicro(mark.Until).UTC(),
		Author: fmt.Sprintf("%s (%s, Slack)", mark.Name, mark.User), Reason: "muted in Slack",
	}
	if one.UntilResolved {
		one.EndsAt = one.StartsAt.Add(silence.MaxUntilResolved)
		one.Reason = "muted in Slack until its message is resolved"
	}
	var all []events.Event
	for _, listed := range message.Events {
		var e events.Event
		if err := json.Unmarshal([]byte(listed.Payload), &e); err != nil {
			return one, fmt.Errorf("decode an event of the message: %w", err)
		}
		all = append(all, e)
	}
	if isOfOneAlert(message) {
		one.Problem = one.UntilResolved && !all[0].StartedAt.After(one.StartsAt) // not with a sender whose clock is ahead
		one.Matchers = []events.Matcher{is("source", all[0].Source), is("fingerprint", all[0].Fingerprint)}
		return one, nil
	}
	one.Matchers = []events.Matcher{ofCategories(all)}
	return one, nil
}

// isOfOneAlert reports whether a message reports a single alert.
func isOfOneAlert(message *store.PostedMessage) bool {
	return len(message.Events) == 1 && len(message.Members) == 0 && message.Untracked+message.UntrackedResolved == 0
}

func is(field, value string) events.Matcher { return events.Matcher{Field: field, Is: &value} }

// ofCategories matches the categories of events.
func ofCategories(all []events.Event) events.Matcher {
	var categories []string
	for i := range all {
		if !slices.Contains(categories, all[i].Category) {
			categories = append(categories, all[i].Category)
		}
	}
	if len(categories) == 1 {
		return is("category", categories[0])
	}
	return events.Matcher{Field: "category", In: categories}
}

func describe(matchers []events.Matcher) string {
	words := make([]string, len(matchers))
	for i, m := range matchers {
		words[i] = m.String()
	}
	return strings.Join(words, " and ")
}
