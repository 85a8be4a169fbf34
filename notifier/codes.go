package notifier

import (
	"net/http"
	"strconv"
	"time"
)

// verdict is what a code of Slack's means for us.
type verdict struct {
	action   Action
	after    time.Duration
	ownFault bool
}

var (
	limited     = verdict{action: Wait, after: defaultRetryAfter}
	teamLimited = verdict{action: Wait, after: 5 * time.Minute} // the whole team sends too much
	migrating   = verdict{action: Wait, after: 2 * time.Minute}
	transient   = verdict{action: Retry}
	noSuchPlace = verdict{action: GiveUp}
	badMessage  = verdict{action: GiveUp}
	badToken    = verdict{action: StopChannel}
	unknownCode = verdict{action: Retry, ownFault: true}
)

// codes are the errors of chat.postMessage and the bodies of incoming webhooks that Slack documents.
var codes = map[string]verdict{
	"ratelimited": limited, "rate_limited": limited, "message_limit_exceeded": teamLimited,

	"internal_error": transient, "fatal_error": transient, "service_unavailable": transient,
	"request_timeout": transient, "rollup_error": transient,
	"team_added_to_org": migrating, "org_login_required": migrating, "external_channel_migrating": migrating,

	// the destination refuses for good
	"channel_not_found": noSuchPlace, "not_in_channel": noSuchPlace, "is_archived": noSuchPlace,
	"restricted_action": noSuchPlace, "restricted_action_read_only_channel": noSuchPlace,
	"restricted_action_thread_only_channel": noSuchPlace, "restricted_action_non_threadable_channel": noSuchPlace,
	"restricted_action_thread_locked": noSuchPlace, "cannot_reply_to_message": noSuchPlace,
	"messages_tab_disabled": noSuchPlace, "ekm_access_denied": noSuchPlace, "team_not_found": noSuchPlace,
	"action_prohibited": noSuchPlace, "posting_to_general_channel_denied": noSuchPlace,
	"invalid_token": noSuchPlace, "team_disabled": noSuchPlace, "no_service": noSuchPlace,
	"no_service_id": noSuchPlace, "no_active_hooks": noSuchPlace, "no_team": noSuchPlace,
	"channel_is_archived": noSuchPlace, "user_not_found": noSuchPlace,

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

	// the credential is refused: nothing gets through
	"invalid_auth": badToken, "not_authed": badToken, "token_revoked": badToken, "token_expired": badToken,
	"account_inactive": badToken, "missing_scope": badToken, "no_permission": badToken,
	"not_allowed_token_type": badToken, "access_denied": badToken, "accesslimited": badToken,
	"enterprise_is_restricted": badToken, "team_access_not_granted": badToken,
	"two_factor_setup_required": badToken, "as_user_not_supported": badToken,
	"deprecated_endpoint": badToken, "method_deprecated": badToken,
}

// codeError is the error of a code. An unknown one may be this message's own fault.
func codeError(code, answer string) *Error {
	v, known := codes[code]
	reason := Reason(code)
	switch {
	case !known:
		v, reason = unknownCode, UnknownAnswer
	case v == limited:
		reason = RateLimited
	}
	return &Error{Action: v.action, After: v.after, OwnFault: v.ownFault, Reason: reason, Answer: answer}
}

// statusError is the error of an HTTP status whose body says nothing that is known.
func statusError(status int, answer string) *Error {
	said := strconv.Itoa(status) + " " + http.StatusText(status)
	if answer != "" {
		said += ": " + answer
	}
	if status >= http.StatusInternalServerError {
		return &Error{Action: Retry, Reason: SlackUnavailable, Answer: said}
	}
	return &Error{Action: Retry, OwnFault: true, Reason: UnknownAnswer, Answer: said}
}
