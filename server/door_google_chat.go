package server

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"slackrelay/pipeline"
)

// googleChatDoor is a webhook of Google Chat (https://developers.google.com/workspace/chat/quickstart/webhooks). The token is the
// parameter of that name; the parameter key, which is Google's own, is ignored.
var googleChatDoor = door{
	source: "google_chat", place: "the parameter token of the URL",
	handle: postDoor(queryToken("token"), replyGoogleChat),
	fail: func(s *Server, f doorFault) {
		f.writeJSON(s, f.status, map[string]any{"error": map[string]any{
			"code": f.status, "message": f.message, "status": cmp.Or(googleErrors[f.status], "INVALID_ARGUMENT"),
		}})
	},
}

// replyGoogleChat replies with the message.
func replyGoogleChat(s *Server, in *ingestRequest, arrival pipeline.Arrival) {
	space := "spaces/" + arrival.Channel
	id := strconv.FormatInt(s.timestamps.micros(in.now), 36)
	s.writeJSON(in.w, in.r, http.StatusOK, map[string]any{
		"name": space + "/messages/" + id, "text": arrival.Events[0].Title, "createTime": in.now.UTC().Format(time.RFC3339Nano),
		"sender": map[string]string{"name": "users/relay", "displayName": arrival.Sender, "type": "BOT"},
		"thread": map[string]string{"name": space + "/threads/" + id},
		"space":  map[string]string{"name": space, "type": "ROOM"},
	})
}

// googleErrors are the names that Google's APIs give to statuses.
var googleErrors = map[int]string{
	http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
	http.StatusInternalServerError: "INTERNAL", http.StatusServiceUnavailable: "UNAVAILABLE",
}
