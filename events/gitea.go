package events

import (
	"cmp"
	"net/http"
)

// gitea is the webhook of Gitea, Forgejo and Gogs, in nearly GitHub's words
// (https://docs.gitea.com/usage/webhooks).
var gitea = source{
	name:    "gitea",
	aliases: []string{"forgejo", "gogs"},
	rank:    variant, // of GitHub's format
	marks:   marks{fields: []string{"sender"}, headers: []string{giteaEvent, gogsEvent}},
	claims: func(in input) bool {
		if giteaKind(in.header) != "" {
			return true
		}
		repository := in.child("repository")
		return in.header.Get(githubEvent) == "" && in.has("sender") && repository.text("full_name") != "" && !repository.has("node_id") &&
			!in.has("sha", "context")
	},
	decode:   one(func(in input) Event { return decodeForge(in, giteaKind(in.header)) }),
	headers:  []string{giteaEvent, gogsEvent},
	delivery: "X-Gitea-Delivery",
}

// The headers with the kind of event. Gitea sends GitHub's too.
const (
	giteaEvent = "X-Gitea-Event"
	gogsEvent  = "X-Gogs-Event"
)

func giteaKind(header http.Header) string {
	return cmp.Or(header.Get(giteaEvent), header.Get(gogsEvent))
}
