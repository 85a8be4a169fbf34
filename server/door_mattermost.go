package server

import (
	"cmp"
	"crypto/rand"
	"strings"

	"slackrelay/events"
)

// mattermostDoor is an incoming webhook of a Mattermost that is served below a path
// (https://developers.mattermost.com/integrate/webhooks/incoming). The token is the last part of the path, as Mattermost's secret is;
// the channel may precede it. Senders compare the reply with "ok".
var mattermostDoor = door{
	source: "mattermost", place: "the last part of the path",
	handle: postDoor(pathToken, replyText("ok")),
	fail: func(s *Server, f doorFault) {
		f.writeJSON(s, f.status, map[string]any{
			"id": cmp.Or(mattermostErrors[f.code], "web.incoming_webhook.invalid.app_error"), "message": f.message,
			"detailed_error": "", "request_id": strings.ToLower(rand.Text()), "status_code": f.status,
		})
	},
}

// mattermostErrors are Mattermost's ids of faults of the body.
var mattermostErrors = map[events.Code]string{
	events.EmptyBody: "web.incoming_webhook.text.app_error", events.BadField: "web.incoming_webhook.text.app_error",
	events.BadJSON: "web.incoming_webhook.parse.app_error",
}
