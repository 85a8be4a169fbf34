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
	doubt    bool // it may have been posted all the same
}

var (
	limited     = verdict{action: Wait, after: defaultRetryAfter}
	teamLimited = verdict{action: Wait, after: 5 * time.Minute} // the whole team sends too much
	migrating   = verdict{action: Wait, after: 2 * time.Minute}
	transient   = verdict{action: Retry}
	partly      = verdict{action: Retry, doubt: true} // some of it may have succeeded
	noSuchPlace = verdict{action: GiveUp}
	badMessage  = verdict{action: Degrade}
	badToken    = verdict{action: StopToken}
	noEdit      = verdict{action: Repost}
	unknownCode = verdict{action: Retry, ownFault: true}
)

// codes are the errors of chat.postMessage and chat.update and the bodies of incoming webhooks that Slack documents.
var codes = map[string]verdict{
	"ratelimited": limited, "rate_limited": limited, "message_limit_exceeded": teamLimited,

	"internal_error": transient, "fatal_error": partly, "service_unavailable": transient,
	"request_timeout": transient, "rollup_error": transient, "update_failed": transient,
	"team_added_to_org": migrating, "org_login_required": migrating, "external_channel_migrating": migrating,

	// the destination refuses for good
	"channel_not_found": noSuchPlace, "not_in_channel": noSuchPlace, "is_archived": noSuchPlace, "is_inactive": noSuchPlace,
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
	"block_mismatch": badMessage,

	// an edit is refused for good
	"message_not_found": noEdit, "cant_update_message": noEdit, "edit_window_closed": noEdit,
	"streaming_state_conflict": noEdit, "no_dual_broadcast_content_update": noEdit,

	// the credential is refused everywhere
	"invalid_auth": badToken, "not_authed": badToken, "token_revoked": badToken, "token_expired": badToken,
	"account_inactive": badToken, "not_allowed_token_type": badToken, "two_factor_setup_required": badToken,
	"deprecated_endpoint": badToken, "method_deprecated": badToken, "as_user_not_supported": badToken,
	"missing_scope": badToken, "no_permission": badToken, "access_denied": badToken, "accesslimited": badToken,
	"enterprise_is_restricted": badToken, "team_access_not_granted": badToken,
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
	return &Error{Action: v.action, After: v.after, OwnFault: v.ownFault, Doubt: v.doubt, Reason: reason, Answer: answer}
}

// statusError is the error of an HTTP status whose body says nothing that is known.
func statusError(status int, answer string) *Error {
	said := strconv.Itoa(status) + " " + http.StatusText(status)
	if answer != "" {
		said += ": " + answer
	}
	if status >= http.StatusInternalServerError { // of what stands before Slack, two may hide that it was posted
		doubt := status == http.StatusBadGateway || status == http.StatusGatewayTimeout
		return &Error{Action: Retry, Reason: SlackUnavailable, Doubt: doubt, Answer: said}
	}
	return &Error{Action: Retry, OwnFault: true, Doubt: status == http.StatusOK, Reason: UnknownAnswer, Answer: said}
}
