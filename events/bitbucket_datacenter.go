package events

import (
	"cmp"
	"strings"
)

// isBitbucketDatacenter reports whether a body is one of Bitbucket Data Center, which differs from that of Bitbucket Cloud
// (https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html).
func isBitbucketDatacenter(o object) bool { return o.has("eventKey", "actor", "date") }

// datacenterActions are the last words of events, as people say them.
var datacenterActions = map[string]string{
	"from_ref_updated": "pushed to", "modified": "edited", "updated": "changed the reviewers of", "unapproved": "withdrew approval of",
	"needs_work": "asked for work on", "added": "commented on", "edited": "edited a comment on", "forked": "forked",
}

func decodeBitbucketDatacenter(in input) Event {
	key := in.text("eventKey")
	action := key[strings.LastIndexByte(key, ':')+1:]
	if strings.HasSuffix(key, "comment:deleted") {
		action = "deleted a comment on"
	}
	var about object // the repository
	for _, path := range [][]string{{"new"}, {"pullRequest", "toRef", "repository"}, {"repository"}} {
		if found := in.child(path...); found != nil {
			about = found
		}
	}
	f := forge{
		object: in.object, repo: joined("/", about.text("project", "key"), about.text("slug")), action: cmp.Or(datacenterActions[action], action),
		actor: cmp.Or(in.text("actor", "displayName"), in.text("actor", "name")),
	}
	event := Event{Severity: Info}
	switch {
	case in.has("pullRequest"):
		f.kind = "pull request"
		f.datacenterPull(&event)
	case in.has("changes"):
		f.kind = "push"
		f.datacenterPush(&event)
	default:
		f.kind, _, _ = strings.Cut(strings.TrimPrefix(key, "repo:"), ":")
		event.Title = joined(": ", f.inRepo(f.actor, f.action, strings.TrimSuffix(f.kind, f.action)), firstLine(in.text("comment", "text")))
		event.Text = in.text("comment", "text")
	}
	event.Category = joined(" ", f.kind, f.repo)
	event.setLabel("repository", f.repo)
	event.setLabel("event", key)
	event.setLabel("actor", f.actor)
	for _, link := range about.objects("links", "self") {
		event.addLink("Repository", "repository_url", link.text("href"))
	}
	return event
}

func (f *forge) datacenterPull(event *Event) {
	pull := f.child("pullRequest")
	event.Title = f.sentence(f.action, "pull request", pull.text("id"), pull.text("title"))
	event.Text = cmp.Or(f.text("comment", "text"), pull.text("description"))
	event.setLabel("branch", pull.text("fromRef", "displayId"))
	for _, link := range pull.objects("links", "self") {
		event.addLink("Pull request", "self", link.text("href"))
	}
}

func (f *forge) datacenterPush(event *Event) {
	changes := f.objects("changes")
	if len(changes) == 0 {
		event.Title = f.inRepo(f.actor, "pushed")
		return
	}
	ref := changes[0].child("ref")
	did := map[string]string{"ADD": "created", "DELETE": "deleted"}[changes[0].text("type")]
	what := joined(" ", cmp.Or(did, "pushed to"), strings.ToLower(ref.text("type")), ref.text("displayId"))
	if more := len(changes) - 1; more > 0 {
		what += " and " + count(more, "more ref")
	}
	event.Title = f.inRepo(f.actor, what)
	event.Text = commitList(f.list("commits"))
	event.setLabel("branch", ref.text("displayId"))
}
