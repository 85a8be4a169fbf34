package events

import (
	"cmp"
	"strings"
)

// github is the webhook of GitHub; a header has the kind of event
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
var github = source{
	name:  "github",
	rank:  byHeader,
	marks: marks{fields: []string{"sender", "zen", "sha", "security_advisory"}, headers: []string{githubEvent}},
	claims: func(in input) bool {
		return in.header.Get(githubEvent) != "" || in.has("sender") &&
			(in.text("repository", "node_id") != "" || in.text("organization", "node_id") != "") ||
			in.has("zen", "hook") || in.has("sha", "context", "branches", "repository") ||
			in.text("security_advisory", "ghsa_id") != "" || in.has("sponsorship", "sender")
	},
	decode:   one(func(in input) Event { return decodeForge(in, in.header.Get(githubEvent)) }),
	headers:  []string{githubEvent},
	delivery: "X-Github-Delivery",
}

// githubEvent is the header with the kind of event.
const githubEvent = "X-Github-Event"

// decodeForge decodes the webhooks of GitHub, and those of Gitea, which are nearly the same.
func decodeForge(in input, header string) Event {
	kind := forgeKindOf(header, in.object)
	f := forge{
		object: in.object, kind: kind.name, action: in.text("action"),
		repo:  cmp.Or(in.text("repository", "full_name"), in.text("organization", "login")),
		actor: cmp.Or(in.text("sender", "login"), in.text("pusher", "name")),
	}
	event := Event{Category: joined(" ", f.kind, f.repo), Severity: Info}
	event.setLabel("repository", f.repo)
	event.setLabel("actor", f.actor)
	event.setLabel("event", f.kind)
	event.setLabel("action", f.action)
	kind.describe(&f, &event)
	event.addLink("Repository", "repository_url", in.text("repository", "html_url"))
	event.Text = event.markdown(event.Text)
	return event
}

// forgeKind is a kind of event with a text of its own.
type forgeKind struct {
	name     string
	is       func(o object) bool // recognises the kind where the header is missing
	describe func(*forge, *Event)
}

// forgeKinds are in the order in which they are recognised.
var forgeKinds = []forgeKind{
	{"workflow_run", hasAll("workflow_run"), (*forge).run},
	{"workflow_job", hasAll("workflow_job"), (*forge).run},
	{"check_run", hasAll("check_run"), (*forge).run},
	{"check_suite", hasAll("check_suite"), (*forge).run},
	{"deployment_status", hasAll("deployment_status"), (*forge).deployment},
	{"deployment", hasAll("deployment"), (*forge).other},
	{"release", hasAll("release"), (*forge).release},
	{"pull_request_review", isReview, (*forge).review},
	{"pull_request_review_comment", hasAll("pull_request", "comment"), (*forge).review},
	{"pull_request_approved", isReview, (*forge).review}, // Gitea's words
	{"pull_request_rejected", isReview, (*forge).review},
	{"pull_request_comment", isReview, (*forge).review},
	{"pull_request", hasAll("pull_request"), (*forge).pullRequest},
	{"issue_comment", hasAll("comment", "issue"), (*forge).issue},
	{"issues", hasAll("issue"), (*forge).issue},
	{"secret_scanning_alert", isAlertWith("secret_type"), (*forge).alert},
	{"dependabot_alert", isAlertWith("security_advisory"), (*forge).alert},
	{"code_scanning_alert", hasAll("alert"), (*forge).alert},
	{"repository_vulnerability_alert", hasAll("alert"), (*forge).alert},
	{"security_advisory", hasAll("security_advisory"), (*forge).advisory},
	{"repository_advisory", hasAll("repository_advisory"), (*forge).advisory},
	{"delete", isDeletion, (*forge).ref},
	{"create", hasAll("ref", "ref_type"), (*forge).ref},
	{"commit_comment", func(o object) bool { return o.child("comment").has("commit_id") }, (*forge).other},
	{"discussion_comment", hasAll("discussion", "comment"), (*forge).other},
	{"discussion", hasAll("discussion"), (*forge).other},
	{"fork", hasAll("forkee"), (*forge).other},
	{"status", hasAll("context", "sha"), (*forge).status},
	{"push", hasAll("ref", "before", "after"), (*forge).push},
	{"ping", hasAll("zen"), (*forge).ping},
}

func hasAll(names ...string) func(object) bool {
	return func(o object) bool { return o.has(names...) }
}

func isAlertWith(name string) func(object) bool {
	return func(o object) bool { return o.child("alert").has(name) }
}

// forgeKindOf returns the kind with the name that a header has, or the kind that the fields show.
func forgeKindOf(header string, o object) forgeKind {
	for _, kind := range forgeKinds {
		if kind.name == header || header == "" && kind.is(o) {
			return kind
		}
	}
	return forgeKind{name: cmp.Or(header, "event"), describe: (*forge).other}
}

func (f *forge) ping(event *Event) {
	event.Title, event.Text = "Webhook connected: "+cmp.Or(f.repo, "a new sender"), f.text("zen")
}

func (f *forge) push(event *Event) {
	kind, name := "branch", strings.TrimPrefix(f.text("ref"), "refs/heads/")
	if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
		kind, name = "tag", tag
	}
	commits := f.list("commits")
	what := "pushed " + count(len(commits), "commit") + " to"
	switch {
	case f.text("deleted") == "true":
		what = "deleted " + kind
	case f.text("forced") == "true":
		what = "force-pushed " + count(len(commits), "commit") + " to"
	case kind == "tag":
		what = "pushed tag"
	case f.text("created") == "true" && len(commits) == 0:
		what = "created " + kind
	}
	event.Title = f.inRepo(f.actor, what, name)
	event.Text = commitList(commits)
	event.setLabel(kind, name)
	event.addLink("Compare", "compare", cmp.Or(f.text("compare"), f.text("compare_url")))
}

// ref describes a branch or a tag that was created or deleted.
func (f *forge) ref(event *Event) {
	event.Title = f.inRepo(f.actor, f.kind+"d", f.text("ref_type"), strings.TrimPrefix(f.text("ref"), "refs/heads/"))
	event.setLabel(f.text("ref_type"), f.text("ref"))
}

func (f *forge) issue(event *Event) {
	issue, what := f.child("issue"), "issue"
	if issue.child("pull_request") != nil || f.text("is_pull") == "true" {
		what = "pull request"
	}
	event.Title = f.sentence(f.action, what, issue.text("number"), issue.text("title"))
	if comment := f.text("comment", "body"); comment != "" {
		event.Title = f.sentence("commented on", what, issue.text("number"), issue.text("title"))
		event.Text = comment
		event.addLink("Comment", "comment", f.text("comment", "html_url"))
	} else if f.action == "opened" {
		event.Text = issue.text("body")
	}
	event.addLink("Issue", "html_url", issue.text("html_url"))
}

func (f *forge) pullRequest(event *Event) {
	pull := f.child("pull_request")
	if f.action == "closed" && pull.text("merged") == "true" {
		f.action = "merged"
	}
	event.Title = f.sentence(f.action, "pull request", cmp.Or(pull.text("number"), f.text("number")), pull.text("title"))
	if f.action == "opened" {
		event.Text = pull.text("body")
	}
	event.setLabel("branch", pull.text("head", "ref"))
	event.addLink("Pull request", "html_url", pull.text("html_url"))
}

func (f *forge) release(event *Event) {
	release := f.child("release")
	event.Title = joined(" ", f.actor, f.action, "release", cmp.Or(release.text("name"), release.text("tag_name")), named("of", f.repo))
	event.Text = release.text("body")
	event.addLink("Release", "html_url", release.text("html_url"))
}

// run describes a workflow or a check. A failure is a firing event, anything else is information.
func (f *forge) run(event *Event) {
	run := f.child(f.kind)
	name := cmp.Or(run.text("name"), f.text("workflow", "name"), run.text("app", "name"), run.text("display_title"), f.kind)
	outcome := cmp.Or(run.text("conclusion"), run.text("status"), f.action)
	branch := cmp.Or(run.text("head_branch"), run.text("check_suite", "head_branch"))
	event.Title = f.inRepo(name, outcomeWord(outcome), named("on", branch))
	event.Text = joined("\n", run.text("output", "title"), run.text("output", "summary"), run.text("display_title"))
	event.setLabel("branch", branch)
	event.setLabel("conclusion", run.text("conclusion"))
	event.StartedAt = timeOf(cmp.Or(run.text("run_started_at"), run.text("started_at"), run.text("created_at")))
	from := run.text("head_repository", "full_name") // a fork may have a branch of that name too
	workflow := cmp.Or(run.text("workflow_id"), joined(" ", run.text("workflow_name"), name))
	event.conclude(outcome, joined(" ", f.repo, f.kind, workflow, from, branch))
	if id := run.text("id"); id != "" {
		event.ID = joined(":", f.kind, id, run.text("run_attempt"), f.action, outcome)
	}
	event.addLink("Run", "html_url", run.text("html_url"))
}

func (f *forge) status(event *Event) {
	state := f.text("state")
	event.Title = f.inRepo(f.text("context"), outcomeWord(state))
	event.Text = joined("\n", f.text("description"), firstLine(f.text("commit", "commit", "message")))
	branch := f.text("sha") // of a fork
	if branches := f.objects("branches"); len(branches) > 0 {
		branch = branches[0].text("name")
	}
	event.conclude(state, joined(" ", f.repo, "status", f.text("context"), branch))
	event.addLink("Details", "target_url", f.text("target_url"))
	event.addLink("Commit", "html_url", f.text("commit", "html_url"))
}

func (f *forge) deployment(event *Event) {
	state, to := f.text("deployment_status", "state"), cmp.Or(f.text("deployment_status", "environment"), f.text("deployment", "environment"))
	event.Title = f.inRepo("Deployment", named("to", to), outcomeWord(state))
	event.Text = joined("\n", f.text("deployment_status", "description"), f.text("deployment", "description"))
	event.setLabel("environment", to)
	event.setLabel("ref", f.text("deployment", "ref"))
	event.conclude(state, joined(" ", f.repo, "deployment", to))
	event.addLink("Log", "log_url", cmp.Or(f.text("deployment_status", "log_url"), f.text("deployment_status", "target_url")))
}

func (f *forge) other(event *Event) {
	subject := f.child(f.kind)
	for _, name := range []string{"comment", "forkee", "deployment"} {
		if subject == nil {
			subject = f.child(name)
		}
	}
	about := cmp.Or(subject.first("title", "full_name", "name", "environment"), f.text("discussion", "title"))
	event.Title = joined(": ", f.inRepo(f.actor, spaced(f.action), spaced(f.kind)), about)
	event.Text = subject.first("body", "description")
	event.addLink("Details", "html_url", subject.text("html_url"))
}
