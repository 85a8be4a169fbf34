package events

import (
	"cmp"
	"strings"
)

// bitbucket is the webhook of Bitbucket Cloud (https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/) and of
// Bitbucket Data Center; see bitbucket_datacenter.go.
var bitbucket = source{
	name:  "bitbucket",
	rank:  byHeader,
	marks: marks{fields: []string{"actor"}, headers: []string{bitbucketEvent}},
	claims: func(in input) bool {
		return in.header.Get(bitbucketEvent) != "" || isBitbucketDatacenter(in.object) || in.has("actor", "repository") &&
			(in.has("push") || in.has("pullrequest") || in.has("issue") || in.has("commit_status") || in.has("fork") || in.has("comment", "commit"))
	},
	decode:   one(decodeBitbucket),
	headers:  []string{bitbucketEvent},
	delivery: "X-Request-Uuid",
	request:  "X-Request-Id", // of Bitbucket Data Center
}

// bitbucketEvent is the header with the kind of event, for example "repo:push".
const bitbucketEvent = "X-Event-Key"

func decodeBitbucket(in input) Event {
	if isBitbucketDatacenter(in.object) {
		return decodeBitbucketDatacenter(in)
	}
	key := in.header.Get(bitbucketEvent)
	subject, action, found := strings.Cut(key, ":")
	action = cmp.Or(bitbucketActions[action], action, bitbucketAction(in.object))
	repo := in.text("repository", "full_name")
	f := forge{object: in.object, repo: repo, action: action, actor: cmp.Or(in.text("actor", "display_name"), in.text("actor", "nickname"))}
	event := Event{Severity: Info}
	switch {
	case in.has("push"):
		f.kind = "push"
		f.bitbucketPush(&event)
	case in.has("pullrequest"):
		f.kind = "pull request"
		f.bitbucketSubject(&event, in.child("pullrequest"), "description")
	case in.has("issue"):
		f.kind = "issue"
		f.bitbucketSubject(&event, in.child("issue"), "content")
	case in.has("commit_status"):
		f.kind = "build"
		f.bitbucketBuild(&event, in.child("commit_status"))
	case in.has("comment", "commit"):
		f.kind = "commit"
		f.bitbucketComment(&event)
	case in.has("fork"):
		f.kind = "fork"
		event.Title = joined(" to ", joined(" ", f.actor, "forked", repo), in.text("fork", "full_name"))
	default:
		f.kind = "event"
		event.Title = f.inRepo(f.actor, spaced(action), subject)
	}
	if !found {
		key = f.kind
	}
	event.Category = joined(" ", f.kind, repo)
	event.setLabel("repository", repo)
	event.setLabel("event", key)
	event.setLabel("actor", f.actor)
	event.addLink("Repository", "repository_url", in.text("repository", "links", "html", "href"))
	return event
}

// bitbucketActions are the actions that people say otherwise.
var bitbucketActions = map[string]string{
	"fulfilled": "merged", "rejected": "declined", "unapproved": "withdrew approval of",
	"comment_created": "commented on", "commit_comment_created": "commented on",
	"comment_updated": "edited a comment on", "comment_deleted": "deleted a comment on",
	"changes_request_created": "requested changes to", "changes_request_removed": "withdrew a request for changes to",
}

// bitbucketAction is what was done where the header that says it is missing.
func bitbucketAction(o object) string {
	state := strings.ToLower(o.text("pullrequest", "state"))
	switch {
	case o.has("approval"):
		return "approved"
	case o.has("comment"):
		return "commented on"
	case state == "merged", state == "declined":
		return state
	case o.has("changes"):
		return "updated"
	default:
		return "opened"
	}
}

func (f *forge) bitbucketComment(event *Event) {
	id := f.text("commit", "hash")
	event.Title = joined(": ", f.inRepo(f.actor, f.action, "commit", id[:min(len(id), 7)]), firstLine(f.text("commit", "message")))
	event.Text = f.text("comment", "content", "raw")
	event.addLink("Comment", "html", f.text("comment", "links", "html", "href"))
}

func (f *forge) bitbucketPush(event *Event) {
	changes := f.objects("push", "changes")
	var lines []string
	commits := 0
	for _, change := range changes {
		commits += len(change.list("commits"))
		lines = append(lines, commitList(change.list("commits")))
		event.addLink("Changes", "changes", change.text("links", "html", "href"))
	}
	branch := ""
	if len(changes) > 0 {
		branch = cmp.Or(changes[0].text("new", "name"), changes[0].text("old", "name"))
	}
	event.Title = f.inRepo(f.actor, "pushed", count(commits, "commit"), named("to", branch))
	event.Text = joined("\n", lines...)
	event.setLabel("branch", branch)
}

func (f *forge) bitbucketSubject(event *Event, subject object, text string) {
	event.Title = f.sentence(f.action, f.kind, subject.text("id"), subject.text("title"))
	event.Text = cmp.Or(f.text("comment", "content", "raw"), subject.text(text, "raw"), subject.text(text))
	event.addLink("Details", "html", subject.text("links", "html", "href"))
}

func (f *forge) bitbucketBuild(event *Event, status object) {
	state := strings.ToLower(status.text("state"))
	event.Title = f.inRepo(status.first("name", "key"), outcomeWord(state), named("on", status.text("refname")))
	event.Text = status.text("description")
	event.conclude(state, joined(" ", f.repo, "build", status.text("key"), status.text("refname")))
	event.addLink("Build", "url", status.text("url"))
}
