package notifier

import (
	"net/http"
	"strconv"
	"time"
)

// verdict is what one of Slack's error codes means for the relay.
type verdict struct {
	action      Action
	after       time.Duration
	ownFault    bool
	maybePosted bool // the message may have been posted despite the error
	revoked     bool // the credential itself is refused, whatever the method and its scopes
	gone        bool // the message to edit no longer exists
}

var (
	limited        = verdict{action: Wait, after: defaultRetryAfter}
	teamLimited    = verdict{action: Wait, after: 5 * time.Minute} // the whole team sends too much
	migrating      = verdict{action: Wait, after: 2 * time.Minute}
	transient      = verdict{action: Retry}
	partial        = verdict{action: Retry, maybePosted: true} // some of it may have succeeded
	badDestination = verdict{action: GiveUp}
	badMessage     = verdict{action: Degrade}
	notAllowed     = verdict{action: StopToken}
	badToken       = verdict{action: StopToken, revoked: true}
	noEdit         = verdict{action: Repost}
	noMessage      = verdict{action: Repost, gone: true}
	unknownCode    = verdict{action: Retry, ownFault: true}
)

// codes are the errors that Slack documents for chat.postMessage, chat.update, conversations.history and .replies, and the
// bodies of failed requests to incoming webhooks. It is the only place that knows a code: add a new one here, then run
// make goldens and check its line in testdata/codes.golden.
var codes = map[string]verdict{
	"ratelimited": limited, "rate_limited": limited, "message_limit_exceeded": teamLimited,

	"internal_error": transient, "fatal_error": partial, "service_unavailable": transient,
	"request_timeout": transient, "rollup_error": transient, "update_failed": transient,
	"team_added_to_org": migrating, "org_login_required": migrating, "external_channel_migrating": migrating,

	// the destination refuses for good
	"channel_not_found": badDestination, "not_in_channel": badDestination, "is_archived": badDestination, "is_inactive": badDestination,
	"restricted_action": badDestination, "restricted_action_read_only_channel": badDestination,
	"restricted_action_thread_only_channel": badDestination, "restricted_action_non_threadable_channel": badDestination,
	"restricted_action_thread_locked": badDestination, "cannot_reply_to_message": badDestination,
	"messages_tab_disabled": badDestination, "ekm_access_denied": badDestination, "team_not_found": badDestination,
	"team_access_not_granted": badDestination, // by a token of an organisation: its other workspaces take messages
	"action_prohibited":       badDestination, "posting_to_general_channel_denied": badDestination,
	"invalid_token": badDestination, "team_disabled": badDestination, "no_service": badDestination,
	"no_service_id": badDestination, "no_active_hooks": badDestination, "no_team": badDestination,
	"channel_is_archived": badDestination, "user_not_found": badDestination,

	// the message is refused for good
	"no_text": badMessage, "msg_too_long": badMessage, "msg_blocks_too_long": badMessage,
	"invalid_blocks": badMessage, "invalid_blocks_format": badMessage,
	"attachment_payload_limit_exceeded": badMessage, "too_many_attachments": badMessage,
	"invalid_attachments": badMessage, "invalid_metadata_format": badMessage,
	"invalid_metadata_schema": badMessage, "metadata_too_large": badMessage,
	"metadata_must_be_sent_from_app": badMessage, "markdown_text_conflict": badMessage,
	"invalid_arguments": badMessage, "invalid_arg_name": badMessage, "invalid_array_arg": badMessage,
	"invalid_charset": badMessage, "invalid_form_data": badMessage, "invalid_post_type": badMessage,
	"missing_post_type": badMessage, "invalid_json": badMessage, "json_not_object": badMessage,
	"too_many_contact_cards": badMessage, "invalid_payload": badMessage,
	"missing_text_or_fallback_or_attachments": badMessage,
	"block_mismatch": badMessage,

	// an edit is refused for good
	"message_not_found": noMessage, string(CannotUpdate): noEdit, "edit_window_closed": noEdit,
	"streaming_state_conflict": noEdit, "no_dual_broadcast_content_update": noEdit,

	// the credential is refused for every method
	"invalid_auth": badToken, "not_authed": badToken, "token_revoked": badToken, "token_expired": badToken,
	"account_inactive": badToken,

	// the credential is refused for this method: no other channel that posts with it gets through either
	"not_allowed_token_type": notAllowed, "two_factor_setup_required": notAllowed,
	"deprecated_endpoint": notAllowed, "method_deprecated": notAllowed, "as_user_not_supported": notAllowed,
	"missing_scope": notAllowed, "no_permission": notAllowed, "access_denied": notAllowed, "accesslimited": notAllowed,
	"enterprise_is_restricted": notAllowed,
}

// CredentialRevoked reports whether Slack refuses the credential itself, for every method. It is false where the
// credential only lacks a permission, for example the scope to read a channel's history.
func (e *Error) CredentialRevoked() bool { return codes[string(e.Reason)].revoked }

// MessageGone reports whether the message to edit no longer exists in Slack.
func (e *Error) MessageGone() bool { return codes[string(e.Reason)].gone }

// codeError returns the error for one of Slack's codes. A code that is not in the table may be the message's own fault.
func codeError(code, answer string) *Error {
	v, known := codes[code]
	reason := Reason(code)
	switch {
	case !known:
		v, reason = unknownCode, UnknownAnswer
	case v == limited:
		reason = RateLimited
	}
	return &Error{Action: v.action, After: v.after, OwnFault: v.ownFault, MaybePosted: v.maybePosted, Reason: reason, Answer: answer}
}

// statusError returns the error for an HTTP status whose body is not a known code.
func statusError(status int, body string) *Error {
	answer := strconv.Itoa(status) + " " + http.StatusText(status)
	if body != "" {
		answer += ": " + body
	}
	if status >= http.StatusInternalServerError { // a proxy answers 502 and 504 although Slack may have posted the message
		maybePosted := status == http.StatusBadGateway || status == http.StatusGatewayTimeout
		return &Error{Action: Retry, Reason: SlackUnavailable, MaybePosted: maybePosted, Answer: answer}
	}
	return &Error{Action: Retry, OwnFault: true, MaybePosted: status == http.StatusOK, Reason: UnknownAnswer, Answer: answer}
}
