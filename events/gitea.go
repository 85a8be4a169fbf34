package events

// gitea is the webhook of Gitea and Forgejo, in nearly GitHub's words
// (https://docs.gitea.com/usage/webhooks).
var gitea = source{
	name:  "gitea",
	rank:  variant, // of GitHub's format
	marks: marks{fields: []string{"sender"}, headers: []string{giteaEvent}},
	claims: func(in input) bool {
		if in.header.Get(giteaEvent) != "" {
			return true
		}
		repository := in.child("repository")
		return in.header.Get(githubEvent) == "" && in.has("sender") && repository.text("full_name") != "" && !repository.has("node_id") &&
			!in.has("sha", "context")
	},
	decode:   one(func(in input) Event { return decodeForge(in, in.header.Get(giteaEvent)) }),
	headers:  []string{giteaEvent},
	delivery: "X-Gitea-Delivery",
}

// giteaEvent is the header with the kind of event. Gitea sends GitHub's too.
const giteaEvent = "X-Gitea-Event"
