package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"
)

// BotOptions configure a Bot. Token and Channel are required.
//
//	notifier.NewBot(notifier.BotOptions{Token: "xoxb-...", Channel: "C0123"})
type BotOptions struct {
	Token   string        // a bot token with the scope chat:write; relay slack manifest lists the others
	Channel string        // channel id, or the name of a public channel
	APIURL  string        // base URL of the Web API. Default Slack's own.
	Timeout time.Duration // of one request. Default [DefaultTimeout].
}

// Bot posts to one channel by chat.postMessage.
type Bot struct {
	*App
	channel string
	id      atomic.Value // string: Slack's id of the channel, once it is known
	joined  atomic.Bool  // the bot has tried to join the channel
}

var (
	_ Editor    = (*Bot)(nil)
	_ Finder    = (*Bot)(nil)
	_ Workspace = (*Bot)(nil)
)

// NewBot makes a Bot of an app that no other Bot shares.
func NewBot(opts BotOptions) *Bot {
	return NewApp(AppOptions{Token: opts.Token, APIURL: opts.APIURL, Timeout: opts.Timeout}).Bot(opts.Channel)
}

// Send implements [Sender].
func (b *Bot) Send(ctx context.Context, m Message) (Receipt, error) {
	ctx, sent := traceSent(ctx)
	channel, ts, err := b.client.PostMessageContext(ctx, b.channel, messageOptions(m)...)
	if err != nil {
		failed := apiError(err, sent)
		if failed.Reason == notInChannel && b.join(ctx) {
			return Receipt{}, &Error{Action: Wait, After: minRetryAfter, Reason: notInChannel, Answer: "the bot has joined the channel"}
		}
		return Receipt{}, failed
	}
	if ts == "" { // slack-go returns no error for {"ok":false} and {}
		return Receipt{}, &Error{Action: Retry, OwnFault: true, MaybePosted: true, Reason: UnknownAnswer, Answer: "200 without a ts"}
	}
	b.id.Store(channel)
	return Receipt{Channel: channel, TS: ts}, nil
}

// notInChannel is Slack's code for a channel that the bot must join first.
const notInChannel Reason = "not_in_channel"

// join joins the channel, and reports whether it did: once, because a bot that was removed on purpose should stay away, and only
// a public channel whose id is known. It needs the scope channels:join.
func (b *Bot) join(ctx context.Context) bool {
	id := b.channelID()
	if id == "" || b.joined.Swap(true) {
		return false
	}
	_, _, _, err := b.client.JoinConversationContext(ctx, id)
	return err == nil
}

// metadataType is the event_type of the metadata of every message.
const metadataType = "relay_message"

// messageOptions returns the arguments of chat.postMessage and chat.update. They turn off everything that would make Slack
// find links or mentions in a text by itself.
func messageOptions(m Message) []slack.MsgOption {
	all := []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), // escaped already
		slack.MsgOptionParse(false),
		slack.MsgOptionLinkNames(false),
		slack.MsgOptionDisableLinkUnfurl(),
		slack.MsgOptionDisableMediaUnfurl(),
	}
	switch {
	case m.Native != nil:
		all = append(all, m.Native.options()...)
	case len(m.Blocks) > 0 || m.Fallback != "":
		all = append(all, slack.MsgOptionAttachments(m.attachment()))
	}
	if m.Entry != "" {
		payload := map[string]any{"id": m.ID, "entry": m.Entry}
		all = append(all, slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metadataType, EventPayload: payload}))
	}
	if m.Thread != "" {
		all = append(all, slack.MsgOptionTS(m.Thread))
	}
	return all
}

// Edit implements [Editor].
func (b *Bot) Edit(ctx context.Context, at Receipt, m Message) error {
	ctx, sent := traceSent(ctx)
	m.Thread = ""
	if _, _, _, err := b.client.UpdateMessageContext(ctx, at.Channel, at.TS, messageOptions(m)...); err != nil {
		return apiError(err, sent)
	}
	return nil
}

// Findable implements [Finder].
func (b *Bot) Findable() bool { return b.channelID() != "" }

func (b *Bot) channelID() string {
	id, _ := b.id.Load().(string)
	return id
}

const (
	historyPage = 200
	// clockSkew is how far Slack's clock may be behind that of Redis.
	clockSkew = time.Minute
)

// Find implements [Finder].
func (b *Bot) Find(ctx context.Context, q Query) (Page, error) {
	ctx, sent := traceSent(ctx)
	oldest := fmt.Sprintf("%d.000000", q.Since.Add(-clockSkew).Unix())
	var messages []slack.Message
	var next string
	var err error
	if q.Thread == "" {
		var history *slack.GetConversationHistoryResponse
		history, err = b.client.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
			ChannelID: b.channelID(), Oldest: oldest, Cursor: q.Cursor, Limit: historyPage, IncludeAllMetadata: true,
		})
		if err == nil {
			messages, next = history.Messages, history.ResponseMetaData.NextCursor
		}
	} else {
		messages, _, next, err = b.client.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: b.channelID(), Timestamp: q.Thread, Oldest: oldest, Cursor: q.Cursor, Limit: historyPage, IncludeAllMetadata: true,
		})
	}
	if err != nil {
		return Page{}, apiError(err, sent)
	}
	for i := range messages {
		m := &messages[i]
		if m.Metadata.EventType == metadataType && m.Metadata.EventPayload["entry"] == q.Entry {
			return Page{Found: true, At: Receipt{Channel: b.channelID(), TS: m.Timestamp}}, nil
		}
	}
	return Page{Cursor: next}, nil
}

// apiError returns the error for an error of slack-go; sent is whether the request went out.
func apiError(err error, sent *atomic.Bool) *Error {
	var limit *slack.RateLimitedError
	var refusal slack.SlackErrorResponse
	var status slack.StatusCodeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &limit):
		return &Error{Action: Wait, Reason: RateLimited, After: max(limit.RetryAfter, minRetryAfter), Answer: "429"}
	case errors.As(err, &refusal):
		answer := strings.Join(append([]string{refusal.Err}, refusal.ResponseMetadata.Messages...), "; ")
		if refusal.Needed != "" {
			answer += "; needed scope " + refusal.Needed
		}
		return codeError(refusal.Err, answer)
	case errors.As(err, &status):
		return statusError(status.Code, "")
	case errors.As(err, &syntax):
		return &Error{Action: Retry, OwnFault: true, MaybePosted: true, Reason: UnknownAnswer, Answer: "200 with a body that is not JSON"}
	default:
		return transportError(err, sent.Load())
	}
}
