// Package action does what people ask for in Slack: it acknowledges and mutes messages, shows and posts what was held back, and
// answers commands.
//
// Nothing that comes from Slack is trusted beyond who clicked and where, which package interaction has verified: the value of a
// button only names a message, which is looked up in the store and has to be at the place of the click. Nothing is remembered in
// the process either: each effect is one step of the store that happens once, so that any replica can answer, and Slack may
// repeat what it sends.
package action

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/silence"
	"slackrelay/store"
)

// Messages are the posted messages of a store.
type Messages interface {
	PostedMessage(ctx context.Context, channel store.Channel, number int64) (*store.PostedMessage, error)
	Mark(ctx context.Context, channel store.Channel, change store.MarkChange) (store.MarkResult, *store.PostedMessage, error)
}

// Archive knows the channels, and what was held back in them; the Archive of package pipeline does.
type Archive interface {
	Channel(name string) (pipeline.Channel, error)
	All() []pipeline.Channel
	Drops(ctx context.Context, channel, before string, most int) ([]pipeline.DropRecord, error)
	Drop(ctx context.Context, channel, id string) (pipeline.DropRecord, error)
	ReplayDrop(ctx context.Context, channel, id string, force bool) (pipeline.Receipt, error)
}

// Status reads the state of channels; the StatusReader of package pipeline does.
type Status interface {
	Channel(ctx context.Context, name string) (pipeline.ChannelStatus, error)
}

// Options configure a [Handler]. All fields but Logger are required:
//
//	handler := action.NewHandler(action.Options{Messages: store, Archive: archive, Status: status, Silences: silencer, Wake: courier.Wake})
type Options struct {
	Messages Messages
	Archive  Archive
	Status   Status
	Silences *silence.Silencer
	Wake     func(channel string) // is called with the name of a channel that has something to send
	Logger   *slog.Logger         // gets the audit log. Default: none
}

// Handler acts on clicks and commands.
type Handler struct {
	opts    Options
	cleared map[string]bool // the silences that ended and that no message shows any more; of EndResolved alone
}

var _ interaction.Handler = (*Handler)(nil)

// NewHandler returns a Handler.
func NewHandler(opts Options) *Handler {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{opts: opts}
}

// request is a click that was found valid: it is on a message of a channel, at its place.
type request struct {
	interaction.Place
	action    string
	reference notifier.Reference
	channel   pipeline.Channel
	message   *store.PostedMessage
}

// Answers to what cannot be done.
const (
	textUnknown     = "This message is not known any more, so that nothing can be done with it."
	textElsewhere   = "This button belongs to another Slack channel. Nothing was done."
	textNoButton    = "This button is not one of the relay's. Nothing was done."
	textNoChannel   = "The relay does not have this message's channel any more. Nothing was done."
	textUnavailable = "The relay cannot reach its store. Nothing is certain: look at the message, and try again."
	textOver        = "It is resolved already. Nothing was done."
)

// Click implements [interaction.Handler].
func (h *Handler) Click(ctx context.Context, click interaction.Click) interaction.Answer {
	if click.Action == notifier.ActionRunbook {
		return interaction.Answer{}
	}
	act, known := map[string]func(ctx context.Context, r *request) interaction.Answer{
		notifier.ActionAcknowledge: h.acknowledge, notifier.ActionUnacknowledge: h.unacknowledge,
		notifier.ActionMute: h.mute, notifier.ActionUnmute: h.unmute, notifier.ActionMuteCategory: h.muteCategory,
		notifier.ActionShowDrops: h.showDrops, notifier.ActionPost: h.post,
	}[click.Action]
	if !known {
		return h.refuse(ctx, &request{Place: click.Place, action: click.Action}, textNoButton)
	}
	r, refusal := h.locate(ctx, click)
	if refusal != "" {
		return h.refuse(ctx, r, refusal)
	}
	return act(ctx, r)
}

// locate finds the message of a click, and compares its place with that of the click. refusal is what is wrong; "" = nothing.
func (h *Handler) locate(ctx context.Context, click interaction.Click) (r *request, refusal string) {
	r = &request{Place: click.Place, action: click.Action}
	var err error
	if r.reference, err = notifier.ParseReference(click.Value); err != nil {
		return r, textNoButton
	}
	if r.channel, err = h.opts.Archive.Channel(r.reference.Channel); err != nil {
		return r, textNoChannel
	}
	if refusal := h.isForeign(ctx, r); refusal != "" {
		return r, refusal
	}
	r.message, err = h.opts.Messages.PostedMessage(ctx, r.channel.Scope(), r.reference.Number)
	switch {
	case err != nil:
		return r, textUnavailable
	case r.message == nil || r.message.TS == "":
		return r, textUnknown
	case r.message.Channel != click.Channel || !isInAnswer(click) && r.message.TS != click.Message:
		return r, textElsewhere
	}
	return r, ""
}

// isInAnswer reports whether a button was clicked in an answer, which only its user sees and which has no place of its own.
func isInAnswer(click interaction.Click) bool {
	return click.Message == "" && (click.Action == notifier.ActionShowDrops || click.Action == notifier.ActionPost)
}

// isForeign returns what is wrong with a click from another workspace than that of the channel's app. Where all channels have one
// app, its receiver has made sure of that.
func (h *Handler) isForeign(ctx context.Context, r *request) string {
	directory, ok := r.channel.Sender.(notifier.Directory)
	if !ok {
		return textElsewhere
	}
	several := false
	for _, other := range h.opts.Archive.All() {
		posts, ok := other.Sender.(notifier.Directory)
		several = several || ok && posts.Workspace() != directory.Workspace()
	}
	if !several {
		return ""
	}
	switch team, err := directory.TeamID(ctx); {
	case err != nil:
		return textUnavailable
	case team != r.Workspace && !strings.HasPrefix(team, "E"): // an app of a whole organisation has all of its workspaces
		return textElsewhere
	default:
		return ""
	}
}

// refuse answers that nothing was done, and why.
func (h *Handler) refuse(ctx context.Context, r *request, why string) interaction.Answer {
	h.audit(ctx, r, "refused", "action", r.action, "why", why)
	return interaction.Answer{Text: why}
}

// auditMessage is the message of the lines about changes, as the operations API writes them.
const auditMessage = "audit"

// audit logs what a user did, or may not do.
func (h *Handler) audit(ctx context.Context, r *request, what string, more ...any) {
	args := []any{
		"what", what, "who", r.User.ID, "name", r.User.Name, "from", "slack", "workspace", r.Workspace, "slack_channel", r.Channel,
	}
	if r.reference.Channel != "" {
		args = append(args, "channel", r.reference.Channel)
	}
	if r.reference.Number > 0 {
		args = append(args, "message", r.reference.Number)
	}
	h.opts.Logger.InfoContext(ctx, auditMessage, append(args, more...)...)
}

// at returns a time of the store for the users.
func at(micros int64) string { return notifier.Date(time.UnixMicro(micros)) }
