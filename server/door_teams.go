package server

import (
	"cmp"
	"net/http"
)

// teamsConnector is an incoming webhook of Microsoft Teams
// (https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using). The token is the last
// part of the path. Senders compare the reply with "1".
var teamsConnector = door{
	source: "teams", place: "the last part of the path",
	handle: postDoor(pathToken, replyText("1")),
	fail:   func(_ *Server, f doorFault) { writeSlackText(f.w, f.status, f.message) },
}

// teamsWorkflow is a workflow of Power Automate that is triggered by a webhook of Microsoft Teams. The token is the signature in
// the URL.
var teamsWorkflow = door{
	source: "teams", place: "the parameter sig of the URL",
	handle: postDoor(queryToken("sig"), replyNothing(http.StatusAccepted)),
	fail: func(s *Server, f doorFault) {
		code := cmp.Or(workflowErrors[f.status], "InvalidRequestContent")
		f.writeJSON(s, f.status, map[string]any{"error": map[string]string{"code": code, "message": f.message}})
	},
}

// workflowErrors are the codes of Azure Logic Apps, by status.
var workflowErrors = map[int]string{
	http.StatusUnauthorized: "DirectApiAuthorizationRequired", http.StatusForbidden: "Forbidden", http.StatusNotFound: "WorkflowNotFound",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLarge", http.StatusInternalServerError: "InternalServerError",
	http.StatusServiceUnavailable: "ServiceUnavailable",
}
