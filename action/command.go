package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/silence"
)

// help lists the words of the command.
const help = "*/relay status* – what was received, posted and held back, and how full the limits are\n" +
	"*/relay drops* – the newest events that were held back\n" +
	"*/relay why ID* – why an event was held back\n" +
	"*/relay silences* – what is muted\n" +
	"*/relay silence CATEGORY DURATION* – mute a category, for example `/relay silence disk 2h`; for operators\n" +
	"*/relay help* – this list\n" +
	"If several channels of the relay post here, end with `in CHANNEL`."

// Bounds of answers to commands, so that Slack shows all of them.
const (
	maxLines   = 15
	maxSilence = 31 * 24 * time.Hour
)

// Command implements [interaction.Handler]. It answers for the channel of the relay that posts where the command was typed.
func (h *Handler) Command(ctx context.Context, command interaction.Command) interaction.Answer {
	words := strings.Fields(command.Text)
	if len(words) == 0 || words[0] == "help" {
		return interaction.Answer{Text: help}
	}
	act, known := map[string]func(ctx context.Context, r *request, words []string) interaction.Answer{
		"status": h.status, "drops": h.drops, "why": h.why, "silences": h.silences, "silence": h.silenceCommand,
	}[words[0]]
	if !known {
		return interaction.Answer{Text: "`" + notifier.Untrusted(words[0], maxName) + "` is not a word of the relay's.\n" + help}
	}
	r := &request{Place: command.Place, action: "/relay " + words[0]}
	words, answer := h.choose(ctx, r, words[1:])
	if answer.Text != "" {
		return answer
	}
	return act(ctx, r, words)
}

// choose finds the channel that a command is for, and returns the words without its name.
func (h *Handler) choose(ctx context.Context, r *request, words []string) (rest []string, answer interaction.Answer) {
	var here []pipeline.Channel
	for _, ch := range h.opts.Archive.All() {
		directory, ok := ch.Sender.(notifier.Directory)
		if ok && directory.ChannelID() == r.Channel {
			here = append(here, ch)
		}
	}
	if n := len(words); n >= 2 && words[n-2] == "in" {
		name := words[n-1]
		words = words[:n-2]
		here = slices.DeleteFunc(here, func(ch pipeline.Channel) bool { return ch.Name != name })
	}
	switch len(here) {
	case 0:
		return nil, h.refuse(ctx, r, "No channel of the relay of that name posts here, as far as it knows: a Slack channel that is configured "+
			"by its name is known after the first message, or at once with the scope channels:read.")
	case 1:
		r.channel = here[0]
		r.reference.Channel = here[0].Name
		if refusal := h.isForeign(ctx, r); refusal != "" {
			return nil, h.refuse(ctx, r, refusal)
		}
		return words, interaction.Answer{}
	default:
		var all []string
		for _, ch := range here {
			all = append(all, "`in "+notifier.Untrusted(ch.Name, maxName)+"`")
		}
		return nil, interaction.Answer{Text: "Several channels of the relay post here. End the command with one of: " +
			strings.Join(all[:min(len(all), maxLines)], ", ")}
	}
}

func (h *Handler) status(ctx context.Context, r *request, _ []string) interaction.Answer {
	s, err := h.opts.Status.Channel(ctx, r.channel.Name)
	if err != nil {
		return interaction.Answer{Text: textUnavailable}
	}
	lines := []string{"*" + notifier.Untrusted(s.Channel, maxName) + "* " + stateOf(s.State)}
	for _, level := range s.Levels {
		per := (time.Duration(level.Per) * time.Second).String()
		lines = append(lines, fmt.Sprintf("%s: %d of %d slots used, for %s",
			notifier.Untrusted(level.Level, maxName), level.Used, level.Limit, per))
	}
	l := s.Ledger
	lines = append(lines, fmt.Sprintf("%d received: %d admitted, %d dropped, %d merged, %d muted, %d duplicate, %d delayed",
		l.Received, l.Admitted, l.Dropped, l.Merged, l.Muted, l.Duplicate, l.Delayed),
		fmt.Sprintf("%d delivered, %d pending, %d failed, %d expired", l.Delivered, l.Pending, l.Failed, l.Expired))
	slices.SortStableFunc(s.Categories, func(a, b pipeline.CategoryStatus) int { return int(b.Dropped - a.Dropped) })
	for _, c := range s.Categories[:min(len(s.Categories), maxLines)] {
		lines = append(lines, fmt.Sprintf("• %s: %d of %d used; in 24 hours %d admitted, %d dropped",
			notifier.Untrusted(c.Category, maxName), c.Used, c.Limit, c.Admitted, c.Dropped))
	}
	return interaction.Answer{Text: strings.Join(lines, "\n")}
}

// stateOf says whether a channel sends.
func stateOf(s pipeline.ChannelState) string {
	if s.PausedUntil == nil {
		return "sends"
	}
	return "is paused until " + notifier.Date(*s.PausedUntil) + ": " + notifier.Untrusted(s.Reason, maxText)
}

func (h *Handler) drops(ctx context.Context, r *request, _ []string) interaction.Answer {
	all, err := h.opts.Archive.Drops(ctx, r.channel.Name, "", maxLines)
	if err != nil {
		return interaction.Answer{Text: textUnavailable}
	}
	if len(all) == 0 {
		return interaction.Answer{Text: "Nothing is recorded as held back in " + notifier.Untrusted(r.channel.Name, maxName) + "."}
	}
	lines := make([]string, len(all))
	for i, d := range all {
		lines[i] = dropLine(d) + " · `" + d.ID + "`"
	}
	return interaction.Answer{Text: strings.Join(lines, "\n")}
}

func (h *Handler) why(ctx context.Context, r *request, words []string) interaction.Answer {
	if len(words) != 1 {
		return interaction.Answer{Text: "Write `/relay why ID`, with the id of the event or of its drop."}
	}
	d, err := h.opts.Archive.Drop(ctx, r.channel.Name, words[0])
	switch {
	case errors.Is(err, pipeline.ErrNotKept):
		return interaction.Answer{Text: "No drop is recorded under that id: it was not held back here, or it was counted without a record."}
	case err != nil:
		return interaction.Answer{Text: textUnavailable}
	}
	return interaction.Answer{Text: dropLine(d)}
}

func (h *Handler) silences(ctx context.Context, r *request, _ []string) interaction.Answer {
	all, err := h.opts.Silences.List(ctx)
	if err != nil {
		return interaction.Answer{Text: textUnavailable}
	}
	var lines []string
	for _, one := range all {
		if one.State != silence.Ended && (one.Channel == "" || one.Channel == r.channel.Name) && len(lines) < maxLines {
			lines = append(lines, fmt.Sprintf("• %s until %s, by %s: %s", notifier.Untrusted(describe(one.Matchers), maxText),
				notifier.Date(one.EndsAt), notifier.Untrusted(one.Author, maxText), notifier.Untrusted(one.Reason, maxText)))
		}
	}
	if lines == nil {
		return interaction.Answer{Text: "Nothing is muted in " + notifier.Untrusted(r.channel.Name, maxName) + "."}
	}
	return interaction.Answer{Text: strings.Join(lines, "\n")}
}

func (h *Handler) silenceCommand(ctx context.Context, r *request, words []string) interaction.Answer {
	const usage = "Write `/relay silence CATEGORY DURATION`, for example `/relay silence disk 2h`."
	if len(words) != 2 {
		return interaction.Answer{Text: usage}
	}
	duration, err := time.ParseDuration(words[1])
	if err != nil || duration < time.Minute || duration > maxSilence {
		return interaction.Answer{Text: fmt.Sprintf("`%s` is not a duration from 1 minute to 31 days. %s",
			notifier.Untrusted(words[1], maxName), usage)}
	}
	return h.silence(ctx, r, events.NormalizeCategory(words[0]), duration)
}
