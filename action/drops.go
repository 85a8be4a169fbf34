package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/store"
)

const (
	pageSize  = 5   // drops on a page: an answer stays far below the 20 KB that Slack shows
	maxListed = 500 // drops that are listed in all
	maxRead   = 4   // as many drops are read so often, if newer digests count them
)

// showDrops lists what a digest counts, newest first, for the user alone. The pages of the list replace each other.
func (h *Handler) showDrops(ctx context.Context, r *request) interaction.Answer {
	page, anchor, err := parsePage(r.reference.Argument)
	if err != nil || r.message.From == 0 {
		return h.refuse(ctx, r, textNoButton)
	}
	all, err := h.dropsOf(ctx, r, anchor)
	if err != nil {
		return h.refuse(ctx, r, textUnavailable)
	}
	if len(all) == 0 {
		return interaction.Answer{Text: "Nothing of it is recorded any more: only the newest drops are kept."}
	}
	page = min(page, (len(all)-1)/pageSize)
	if anchor == "" {
		anchor = all[0].ID
	}
	return interaction.Answer{
		Text: fmt.Sprintf("%d held back in %s", len(all), notifier.Untrusted(r.channel.Name, maxText)), Replace: r.Message == "",
		Blocks: h.pageOf(r, all, page, anchor),
	}
}

// dropsOf returns the drops that a digest counts, newest first, beginning with the one with an id ("" = the newest). Resolves whose
// firing was never posted are not among them: nothing was lost.
func (h *Handler) dropsOf(ctx context.Context, r *request, first string) (found []pipeline.DropRecord, err error) {
	from := time.UnixMicro(r.message.From).Truncate(time.Millisecond) // the precision of the log
	ends := time.UnixMicro(r.message.At).Add(r.channel.Digest.Interval)
	before := ""
	for range maxRead {
		all, err := h.opts.Archive.Drops(ctx, r.channel.Name, before, maxListed)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			switch {
			case d.At.Before(from) || len(found) == maxListed:
				return found, nil
			case d.ID == first:
				first = ""
				found = nil
			}
			if !d.At.After(ends) && d.Level != store.Suppressed.Reason() {
				found = append(found, d)
			}
		}
		if len(all) < maxListed {
			break
		}
		before = all[len(all)-1].ID
	}
	return found, nil
}

// parsePage reads the argument of a page: its number, and the id with which the list begins. "" is the first page.
func parsePage(argument string) (page int, anchor string, err error) {
	if argument == "" {
		return 0, "", nil
	}
	number, anchor, _ := strings.Cut(argument, ".")
	page, err = strconv.Atoi(number)
	if err != nil || page < 0 || page > maxListed || !isEntryID(anchor) {
		return 0, "", errors.New("no page")
	}
	return page, anchor, nil
}

// isEntryID reports whether a text is the id of a drop.
func isEntryID(text string) bool {
	at, n, found := strings.Cut(text, "-")
	isNumber := func(s string) bool {
		_, err := strconv.ParseUint(s, 10, 63)
		return err == nil && s[0] != '+'
	}
	return isNumber(at) && (!found || isNumber(n))
}

// pageOf returns a page of drops: what, why and when of each, with a button that posts it.
func (*Handler) pageOf(r *request, all []pipeline.DropRecord, page int, anchor string) []slack.Block {
	pages := (len(all) + pageSize - 1) / pageSize
	headline := fmt.Sprintf("*%d held back in %s*", len(all), notifier.Untrusted(r.channel.Name, maxText))
	if len(all) == maxListed {
		headline += ", or more"
	}
	blocks := []slack.Block{slack.NewSectionBlock(notifier.Mrkdwn(headline), nil, nil)}
	for _, d := range all[page*pageSize : min(len(all), (page+1)*pageSize)] {
		value := notifier.Reference{Channel: r.reference.Channel, Number: r.reference.Number, Argument: d.ID}
		var post *slack.Accessory
		if d.Event != nil && len(r.channel.Operators) > 0 {
			post = slack.NewAccessory(notifier.Button(notifier.ActionPost, value, "Post anyway"))
		}
		blocks = append(blocks, slack.NewSectionBlock(notifier.Mrkdwn(dropLine(d)), nil, post))
	}
	if pages == 1 {
		return blocks
	}
	var turn []slack.BlockElement
	to := func(page int, label string) {
		value := notifier.Reference{
			Channel: r.reference.Channel, Number: r.reference.Number, Argument: fmt.Sprintf("%d.%s", page, anchor),
		}
		turn = append(turn, notifier.Button(notifier.ActionShowDrops, value, label))
	}
	if page > 0 {
		to(page-1, "Previous")
	}
	if page < pages-1 {
		to(page+1, "Next")
	}
	where := slack.NewContextBlock("", notifier.Mrkdwn(fmt.Sprintf("page %d of %d", page+1, pages)))
	return append(blocks, where, slack.NewActionBlock("", turn...))
}

// dropLine returns a dropped event in two lines, the first one as in its message.
func dropLine(d pipeline.DropRecord) string {
	icon, title := "", "not kept"
	if d.Event != nil {
		icon, title = notifier.Icon(*d.Event)+" ", cmp.Or(d.Event.Title, d.Event.Text)
	}
	return icon + "*" + notifier.Untrusted(strings.ReplaceAll(title, "*", "∗"), maxText) + "*\n" +
		notifier.Untrusted(d.Category+": "+d.Explanation(), maxText) + " · " + notifier.Date(d.At)
}

// post posts a dropped event past the limits. Its new id is derived from the drop, so that a repeat posts nothing.
func (h *Handler) post(ctx context.Context, r *request) interaction.Answer {
	id := r.reference.Argument
	if !isEntryID(id) || r.message.From == 0 {
		return h.refuse(ctx, r, textNoButton)
	}
	if refusal := h.mustOperate(ctx, r); refusal != "" {
		return h.refuse(ctx, r, refusal)
	}
	receipt, err := h.opts.Archive.ReplayDrop(ctx, r.channel.Name, id, true)
	switch {
	case errors.Is(err, pipeline.ErrNotKept):
		return h.refuse(ctx, r, "It is not recorded any more, so that it cannot be posted.")
	case err != nil:
		return h.refuse(ctx, r, textUnavailable)
	case receipt.Duplicate > 0:
		return interaction.Answer{Text: "It was posted already."}
	}
	h.audit(ctx, r, "dropped event sent again", "id", id, "forced", true, "admitted", receipt.Admitted, "merged", receipt.Merged)
	if receipt.Merged > 0 {
		return interaction.Answer{Text: "It is counted on the message of its alert, which is posted already."}
	}
	return interaction.Answer{Text: "It is posted, past the limits."}
}

// muteCategory mutes a category of a digest.
func (h *Handler) muteCategory(ctx context.Context, r *request) interaction.Answer {
	length, category, found := strings.Cut(r.reference.Argument, "/")
	duration := durations[length]
	if !found || duration == 0 || r.message.From == 0 {
		return h.refuse(ctx, r, textNoButton)
	}
	return h.silence(ctx, r, category, duration)
}
