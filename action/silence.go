package action

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"slackrelay/events"
	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/silence"
)

// repeatWithin is how long a second wish of the same user for the same silence is taken for a repeat.
const repeatWithin = 30 * time.Second

// silence mutes a category of the request's channel.
func (h *Handler) silence(ctx context.Context, r *request, category string, duration time.Duration) interaction.Answer {
	if category == "" || category != events.NormalizeCategory(category) {
		return h.refuse(ctx, r, fmt.Sprintf("%s is not a category. Nothing was done.", notifier.Untrusted(category, maxText)))
	}
	if refusal := h.mustOperate(ctx, r); refusal != "" {
		return h.refuse(ctx, r, refusal)
	}
	listed, err := h.opts.Silences.List(ctx)
	if err != nil {
		return h.refuse(ctx, r, textUnavailable)
	}
	now := time.Now().UTC()
	wanted := silence.Silence{
		Channel: r.channel.Name, Matchers: []events.Matcher{is("category", category)}, FiringOnly: true, EndsAt: now.Add(duration),
		Author: fmt.Sprintf("%s (%s, Slack)", cut(r.User.Name), r.User.ID), Reason: "muted in Slack",
	}
	slot := now.UnixNano() / int64(repeatWithin)
	wanted.ID = repeatID(r, category, duration, slot)
	for _, known := range listed {
		if known.ID == repeatID(r, category, duration, slot-1) && known.State == silence.Active {
			wanted.ID = known.ID
		}
	}
	created, err := h.opts.Silences.Ensure(ctx, wanted)
	if err != nil {
		return h.refuse(ctx, r, noSilence(err))
	}
	if created {
		h.audit(ctx, r, "silence created", "silence", wanted.ID, "silenced", r.channel.Name, "category", category, "ends_at", wanted.EndsAt)
	}
	return interaction.Answer{Text: fmt.Sprintf("%s is muted in %s until %s. Resolves are still shown. End it with `relay silence expire %s`.",
		notifier.Untrusted(category, maxText), notifier.Untrusted(r.channel.Name, maxText), notifier.Date(wanted.EndsAt), wanted.ID)}
}

// repeatID is the id of the silence that a user wishes for within a slot of time.
func repeatID(r *request, category string, duration time.Duration, slot int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%d", r.channel.Name, category, r.User.ID, duration, slot))
	return "slack-" + hex.EncodeToString(sum[:10])
}
