package notifier

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"

	"slackrelay/slackapp"
)

// hookPath is the path of incoming webhooks of Mattermost, /hooks/<id>, and of Rocket.Chat, /hooks/<id>/<token>.
var hookPath = regexp.MustCompile(`/hooks/[A-Za-z0-9]+(?:/[^/]+){0,2}/?$`)

// IsChatServer reports whether an incoming webhook is one of Mattermost or Rocket.Chat, as its path says: they understand Slack's
// attachments, but neither its blocks nor its mrkdwn.
func IsChatServer(webhook string) bool {
	u, err := url.Parse(webhook)
	return err == nil && !slackapp.IsSlack(webhook) && hookPath.MatchString(u.Path)
}

// chatBody is the body of a request to Mattermost or Rocket.Chat, in Markdown
// (https://developers.mattermost.com/integrate/webhooks/incoming, https://docs.rocket.chat/docs/integrations).
type chatBody struct {
	Text        string           `json:"text"`
	Attachments []chatAttachment `json:"attachments,omitempty"`
}

type chatAttachment struct {
	Fallback string `json:"fallback,omitempty"`
	Color    string `json:"color,omitempty"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url,omitempty"`
}

// chatBodyOf returns a message for Mattermost or Rocket.Chat.
func chatBodyOf(m Message) chatBody {
	body := chatBody{Text: Markdown(m.Text)}
	add := func(a chatAttachment) {
		if a.Text != "" || a.ImageURL != "" {
			body.Attachments = append(body.Attachments, a)
		}
	}
	if m.Native == nil {
		text, image := markdownBlocks(blocksJSON(m.Blocks))
		if text == "" && image == "" {
			text = Markdown(m.Fallback)
		}
		add(chatAttachment{Fallback: Markdown(m.Fallback), Color: m.Color, Text: text, ImageURL: image})
		return body
	}
	text, image := markdownBlocks(decodeBlocks(m.Native.Blocks))
	add(chatAttachment{Text: text, ImageURL: image})
	for _, native := range decodeBlocks(m.Native.Attachments) {
		add(markdownAttachment(native))
	}
	return body
}

// chatFault is what a refusal of Mattermost or Rocket.Chat means: one of Slack's codes.
type chatFault struct {
	code string
	// doubtful is whether the server says the same when it is at fault itself: the message is sent a few times more.
	doubtful bool
}

// mattermostFaults are the ids of Mattermost's errors. It answers an unknown webhook as it does when its database is away.
var mattermostFaults = map[string]chatFault{
	"web.incoming_webhook.invalid.app_error":             {code: "no_service", doubtful: true},
	"web.incoming_webhook.disabled.app_error":            {code: "no_active_hooks"},
	"web.incoming_webhook.channel.app_error":             {code: "channel_not_found"},
	"app.channel.get.existing.app_error":                 {code: "channel_not_found"},
	"web.incoming_webhook.channel_locked.app_error":      {code: "action_prohibited"},
	"web.incoming_webhook.permissions.app_error":         {code: "action_prohibited"},
	"web.incoming_webhook.user.app_error":                {code: "user_not_found"},
	"api.post.create_post.can_not_post_to_deleted.error": {code: "channel_is_archived"},
	"web.incoming_webhook.parse.app_error":               {code: "invalid_payload"},
	"api.webhook.incoming.error":                         {code: "invalid_payload"},
	"web.incoming_webhook.text.app_error":                {code: "no_text"},
	"web.incoming_webhook.text.length.app_error":         {code: "msg_too_long"},
	"web.incoming_webhook.split_props_length.app_error":  {code: "attachment_payload_limit_exceeded"},
	"model.post.is_valid.msg.app_error":                  {code: "msg_too_long"},
	"model.post.is_valid.props.app_error":                {code: "attachment_payload_limit_exceeded"},
}

// rocketChatFaults are the errors of Rocket.Chat, by its code or, where it has none, its sentence.
var rocketChatFaults = map[string]chatFault{
	"Invalid integration id or token provided.": {code: "no_service"},
	"You must be logged in to do this.":         {code: "user_not_found"},
	"invalid-channel":                           {code: "channel_not_found"},
	"error-invalid-room":                        {code: "channel_not_found"},
	"room_is_archived":                          {code: "channel_is_archived"},
	"room_is_blocked":                           {code: "action_prohibited"},
	"error-not-allowed":                         {code: "action_prohibited"},
	"You_have_been_muted":                       {code: "action_prohibited"},
	"error-message-size-exceeded":               {code: "msg_too_long"},
	"overriding destination channel is disabled for this integration": {code: "action_prohibited"},
}

// chatAnswer is an answer of Mattermost or Rocket.Chat.
type chatAnswer struct {
	ID      string `json:"id"`      // of Mattermost's error
	Message string `json:"message"` // of Mattermost's error
	Success *bool  `json:"success"` // Rocket.Chat has it in each answer
	Error   any    `json:"error"`   // of Rocket.Chat
}

// chatError returns the error for an answer of Mattermost or Rocket.Chat. known is false if it is none of theirs; a nil error with
// known means success.
func (r reply) chatError() (failure *Error, known bool) {
	var answer chatAnswer
	unreadable := json.Unmarshal([]byte(r.body), &answer)
	if unreadable != nil || answer.ID == "" && answer.Success == nil {
		return nil, false //nolint:nilerr // it is another server's answer
	}
	if answer.Success != nil && *answer.Success && r.status == http.StatusOK {
		return nil, true
	}
	says, _ := answer.Error.(string)
	fault, documented := rocketChatFaults[says]
	if answer.ID != "" {
		says = answer.ID + ": " + answer.Message
		fault, documented = mattermostFaults[answer.ID]
	}
	switch {
	case documented && fault.doubtful:
		return &Error{Action: Retry, OwnFault: true, Reason: Reason(fault.code), Answer: truncateAnswer(says)}, true
	case documented:
		return codeError(fault.code, truncateAnswer(says)), true
	default:
		failure = statusError(r.status, truncateAnswer(says))
		failure.MaybePosted = failure.MaybePosted && r.status != http.StatusOK // it says that it failed
		return failure, true
	}
}
