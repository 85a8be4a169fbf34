package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// BotOptions configure a Bot.
type BotOptions struct {
	Token   string        // a bot token with chat:write
	Channel string        // channel id, or the name of a public channel
	APIURL  string        // base URL of the Web API. Default Slack's own.
	Timeout time.Duration // bounds one request. Default 5 s.
}

// Bot posts to one channel by chat.postMessage.
type Bot struct {
	client  *slack.Client
	channel string
}

var _ Sender = (*Bot)(nil)

// NewBot makes a Bot. slack-go's own retries stay off: they would block the channel's sender and hide a 429
// from the other replicas.
func NewBot(opts BotOptions) *Bot {
	options := []slack.Option{slack.OptionHTTPClient(httpClient(opts.Timeout))}
	if opts.APIURL != "" {
		options = append(options, slack.OptionAPIURL(strings.TrimSuffix(opts.APIURL, "/")+"/"))
	}
	return &Bot{client: slack.New(opts.Token, options...), channel: opts.Channel}
}

// Send implements [Sender].
func (b *Bot) Send(ctx context.Context, m Message) (Receipt, error) {
	channel, ts, err := b.client.PostMessageContext(ctx, b.channel, options(m)...)
	if err != nil {
		return Receipt{}, apiError(err)
	}
	if ts == "" { // slack-go takes {"ok":false} and {} for a success
		return Receipt{}, &Error{Action: Retry, OwnFault: true, Reason: UnknownAnswer, Answer: "200 without a ts"}
	}
	return Receipt{Channel: channel, TS: ts}, nil
}

// options are the arguments of chat.postMessage: nothing in a relayed text comes alive by itself.
func options(m Message) []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), // escaped already
		slack.MsgOptionAttachments(m.attachment()),
		slack.MsgOptionParse(false),
		slack.MsgOptionLinkNames(false),
		slack.MsgOptionDisableLinkUnfurl(),
		slack.MsgOptionDisableMediaUnfurl(),
	}
}

// apiError reads what slack-go made of Slack's answer.
func apiError(err error) *Error {
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
		return &Error{Action: Retry, OwnFault: true, Reason: UnknownAnswer, Answer: "200 with a body that is not JSON"}
	default:
		return transportError(err)
	}
}
