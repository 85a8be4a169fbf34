package events

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// github is the webhook of GitHub; a header has the kind of event
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
var github = source{
	name: "github",
	rank: byHeader,
	claims: func(in input) bool {
		return in.header.Get(githubEvent) != "" || in.has("sender") &&
			(in.text("repository", "node_id") != "" || in.text("organization", "node_id") != "") ||
			in.has("zen", "hook") || in.has("sha", "context", "branches", "repository")
	},
	decode:   one(func(in input) Event { return decodeForge(in, in.header.Get(githubEvent)) }),
	headers:  []string{githubEvent},
	delivery: "X-Github-Delivery",
}

// githubEvent is the header with the kind of event.
const githubEvent = "X-Github-Event"

// decodeForge decodes the webhooks of GitHub, and those of Gitea, which are nearly the same.
func decodeForge(in input, kind string) Event {
	kind = cmp.Or(kind, forgeEvent(in.object))
	repo := cmp.Or(in.text("repository", "full_name"), in.text("organization", "login"))
	event := Event{Category: joined(" ", kind, repo), Severity: Info}
	event.setLabel("repository", repo)
	event.setLabel("actor", cmp.Or(in.text("sender", "login"), in.text("pusher", "name")))
	event.setLabel("event", kind)
	event.setLabel("action", in.text("action"))
	f := forge{object: in.object, kind: kind, action: in.text("action"), repo: repo, actor: event.Labels["actor"]}
	if describe, ok := forgeEvents[kind]; ok {
		describe(&f, &event)
	} else {
		f.other(&event)
	}
	event.addLink("Repository", "repository_url", in.text("repository", "html_url"))
	return event
}

// forge is one webhook about a repository.
type forge struct {
	object
	kind, action, repo, actor string
}

// forgeEvents are the kinds of events with a text of their own.
var forgeEvents = map[string]func(*forge, *Event){
	"ping":                           (*forge).ping,
	"push":                           (*forge).push,
	"issues":                         (*forge).issue,
	"issue_comment":                  (*forge).issue,
	"pull_request":                   (*forge).pullRequest,
	"release":                        (*forge).release,
	"workflow_run":                   (*forge).run,
	"workflow_job":                   (*forge).run,
	"check_run":                      (*forge).run,
	"check_suite":                    (*forge).run,
	"status":                         (*forge).status,
	"deployment_status":              (*forge).deployment,
	"dependabot_alert":               (*forge).alert,
	"code_scanning_alert":            (*forge).alert,
	"secret_scanning_alert":          (*forge).alert,
	"repository_vulnerability_alert": (*forge).alert,
}

// forgeEvent detects the kind of event where the header is missing.
func forgeEvent(o object) string {
	for _, kind := range []string{
		"workflow_run", "workflow_job", "check_run", "check_suite", "deployment_status", "deployment", "release",
		"pull_request",
	} {
		if o.has(kind) {
			return kind
		}
	}
	switch {
	case o.has("comment", "issue"):
		return "issue_comment"
	case o.has("issue"):
		return "issues"
	case o.text("alert", "secret_type") != "":
		return "secret_scanning_alert"
	case o.child("alert").has("security_advisory"):
		return "dependabot_alert"
	case o.has("alert"):
		return "code_scanning_alert"
	case o.has("context", "sha"):
		return "status"
	case o.has("ref", "before", "after"):
		return "push"
	case o.has("zen"):
		return "ping"
	default:
		return "event"
	}
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
	event.Title = joined(" ", f.actor, what, name, named("in", f.repo))
	event.Text = commitList(commits)
	event.setLabel(kind, name)
	event.addLink("Compare", "compare", cmp.Or(f.text("compare"), f.text("compare_url")))
}

func (f *forge) issue(event *Event) {
	issue := f.child("issue")
	event.Title = f.sentence("issue", issue)
	if comment := f.text("comment", "body"); comment != "" {
		event.Title = fmt.Sprintf("%s commented on issue #%s in %s: %s", f.actor, issue.text("number"), f.repo, issue.text("title"))
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
	event.Title = f.sentence("pull request", pull)
	if f.action == "opened" {
		event.Text = pull.text("body")
	}
	event.setLabel("branch", pull.text("head", "ref"))
	event.addLink("Pull request", "html_url", pull.text("html_url"))
}

// sentence is "octocat opened issue #1 in o/r: Title".
func (f *forge) sentence(what string, subject object) string {
	number := ""
	if n := cmp.Or(subject.text("number"), f.text("number")); n != "" {
		number = "#" + n
	}
	about := joined(" ", f.actor, strings.ReplaceAll(f.action, "_", " "), what, number, named("in", f.repo))
	return joined(": ", about, subject.text("title"))
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
	event.Title = joined(" ", name, outcomeWord(outcome), named("on", cmp.Or(run.text("head_branch"), run.text("check_suite", "head_branch"))),
		named("in", f.repo))
	event.Text = joined("\n", run.text("output", "title"), run.text("output", "summary"), run.text("display_title"))
	event.setLabel("branch", cmp.Or(run.text("head_branch"), run.text("check_suite", "head_branch")))
	event.setLabel("conclusion", run.text("conclusion"))
	event.StartedAt = timeOf(cmp.Or(run.text("run_started_at"), run.text("started_at"), run.text("created_at")))
	event.fail(outcome, joined(" ", f.repo, f.kind, cmp.Or(run.text("workflow_id"), name), event.Labels["branch"]))
	if id := run.text("id"); id != "" {
		event.ID = joined(":", f.kind, id, run.text("run_attempt"), f.action, outcome)
	}
	event.addLink("Run", "html_url", run.text("html_url"))
}

func (f *forge) status(event *Event) {
	state := f.text("state")
	event.Title = joined(" ", f.text("context"), outcomeWord(state), named("in", f.repo))
	event.Text = joined("\n", f.text("description"), firstLine(f.text("commit", "commit", "message")))
	event.fail(state, joined(" ", f.repo, "status", f.text("context")))
	event.addLink("Details", "target_url", f.text("target_url"))
	event.addLink("Commit", "html_url", f.text("commit", "html_url"))
}

func (f *forge) deployment(event *Event) {
	state, to := f.text("deployment_status", "state"), cmp.Or(f.text("deployment_status", "environment"), f.text("deployment", "environment"))
	event.Title = joined(" ", "Deployment", named("to", to), outcomeWord(state), named("in", f.repo))
	event.Text = joined("\n", f.text("deployment_status", "description"), f.text("deployment", "description"))
	event.setLabel("environment", to)
	event.setLabel("ref", f.text("deployment", "ref"))
	event.fail(state, joined(" ", f.repo, "deployment", to))
	event.addLink("Log", "log_url", cmp.Or(f.text("deployment_status", "log_url"), f.text("deployment_status", "target_url")))
}

// alert describes a security alert.
func (f *forge) alert(event *Event) {
	alert := f.child("alert")
	advisory, rule := alert.child("security_advisory"), alert.child("rule")
	what := cmp.Or(advisory.text("summary"), rule.text("description"), rule.text("name"), alert.text("secret_type_display_name"),
		named("secret", alert.text("secret_type")), alert.text("affected_package_name"))
	event.Title = joined(" ", "Security alert", f.action, named("in", f.repo)) + ": " + cmp.Or(what, f.kind)
	event.Text = joined("\n", named("in", alert.text("dependency", "manifest_path")), advisory.text("description"))
	event.Severity = ""
	event.setSeverity(cmp.Or(advisory.text("severity"), rule.text("security_severity_level"), rule.text("severity"), "high"))
	event.Fingerprint = joined(" ", f.repo, f.kind, alert.text("number"))
	event.StartedAt = timeOf(alert.text("created_at"))
	event.setLabel("package", alert.text("dependency", "package", "name"))
	event.setLabel("cve", advisory.text("cve_id"))
	switch f.action {
	case "fixed", "dismissed", "auto_dismissed", "resolved", "closed_by_user", "dismiss", "resolve":
		event.Status = Resolved
	default:
		event.Status = Firing
	}
	event.addLink("Alert", "html_url", alert.text("html_url"))
}

func (f *forge) other(event *Event) {
	event.Title = joined(" ", f.actor, strings.ReplaceAll(f.action, "_", " "), strings.ReplaceAll(f.kind, "_", " "), named("in", f.repo))
	subject := f.child(f.kind)
	event.Text = joined("\n", subject.first("title", "name"), subject.first("body", "description"))
	event.addLink("Details", "html_url", subject.text("html_url"))
}

// maxCommits is how many commits of a push are listed.
const maxCommits = 10

func commitList(commits []jsontext.Value) string {
	var lines []string
	for _, raw := range commits[:min(len(commits), maxCommits)] {
		commit := objectOf(raw)
		id := commit.text("id")
		lines = append(lines, joined(" ", id[:min(len(id), 7)], firstLine(commit.text("message")),
			named("–", cmp.Or(commit.text("author", "username"), commit.text("author", "name")))))
	}
	if more := len(commits) - maxCommits; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// failures are the outcomes of a run that need attention.
var failures = map[string]Severity{
	"failure":         Error,
	"failed":          Error,
	"error":           Error,
	"timed_out":       Error,
	"startup_failure": Error,
	"action_required": Warning,
	"unstable":        Warning,
	"stale":           Warning,
}

// fail marks an event as firing if its outcome is a failure.
func (e *Event) fail(outcome, fingerprint string) {
	severity, failed := failures[strings.ToLower(outcome)]
	if !failed {
		return
	}
	e.Severity, e.Status, e.Fingerprint = severity, Firing, fingerprint
}

// outcomeWord is the verb for an outcome.
func outcomeWord(outcome string) string {
	switch outcome = strings.ToLower(outcome); outcome {
	case "failure":
		return "failed"
	case "success":
		return "succeeded"
	case "error":
		return "ended in error"
	default:
		return strings.ReplaceAll(outcome, "_", " ")
	}
}
