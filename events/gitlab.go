package events

import (
	"cmp"
	"strings"
)

// gitlab is the webhook of GitLab (https://docs.gitlab.com/user/project/integrations/webhook_events/).
var gitlab = source{
	name:  "gitlab",
	rank:  byHeader,
	marks: marks{fields: []string{"object_kind"}, headers: []string{gitlabEvent}},
	claims: func(in input) bool {
		return in.header.Get(gitlabEvent) != "" || in.has("object_kind") && (in.has("project") || in.has("project_id") || in.has("group"))
	},
	decode:   one(decodeGitlab),
	delivery: "X-Gitlab-Event-Uuid",
}

// gitlabEvent is the header with the kind of event, which the body has too.
const gitlabEvent = "X-Gitlab-Event"

func decodeGitlab(in input) Event {
	kind, subject := cmp.Or(in.text("object_kind"), in.text("event_name"), "event"), in.child("object_attributes")
	project := cmp.Or(in.text("project", "path_with_namespace"), in.text("project_name"), in.text("group", "full_path"))
	event := Event{Category: joined(" ", kind, project), Severity: Info}
	f := forge{
		object: in.object, kind: kind, repo: project, action: cmp.Or(subject.text("action"), in.text("action")),
		actor: cmp.Or(in.text("user", "name"), in.text("user_name"), in.text("user", "username")),
	}
	event.setLabel("project", project)
	event.setLabel("event", kind)
	event.setLabel("actor", f.actor)
	switch kind {
	case "push", "tag_push":
		f.gitlabPush(&event)
	case "pipeline", "build":
		f.gitlabRun(&event, subject)
	case "deployment":
		f.gitlabDeployment(&event)
	case "release":
		event.Title = joined(" ", "Release", in.first("name", "tag"), named("of", project), strings.TrimSuffix(in.text("action"), "e")+"ed")
		event.Text = in.text("description")
		event.addLink("Release", "url", in.text("url"))
	default: // issue, merge_request, note, wiki_page and whatever comes
		f.gitlabSubject(&event, subject)
	}
	event.addLink("Project", "project_url", cmp.Or(in.text("project", "web_url"), in.text("repository", "homepage")))
	event.Text = event.markdown(event.Text)
	return event
}

func (f *forge) gitlabPush(event *Event) {
	name := strings.TrimPrefix(strings.TrimPrefix(f.text("ref"), "refs/heads/"), "refs/tags/")
	commits, total := f.list("commits"), f.text("total_commits_count")
	switch {
	case strings.Trim(f.text("after"), "0") == "":
		event.Title = f.inRepo(f.actor, "deleted", name)
	case f.kind == "tag_push":
		event.Title = f.inRepo(f.actor, "pushed tag", name)
	case total == "" || total == "1":
		event.Title = f.inRepo(f.actor, "pushed", count(len(commits), "commit"), named("to", name))
	default:
		event.Title = f.inRepo(f.actor, "pushed", total, "commits", named("to", name))
	}
	event.Text = commitList(commits)
	event.setLabel("ref", name)
}

// gitlabRun is a pipeline, whose fields are its attributes, or a job, whose fields are the webhook's own.
func (f *forge) gitlabRun(event *Event, pipeline object) {
	what, status, ref, id, address := "Pipeline", pipeline.text("status"), pipeline.text("ref"), pipeline.text("id"), pipeline.text("url")
	started, fingerprint := pipeline.text("created_at"), "pipeline"
	if f.kind == "build" {
		what, status, ref, id = named("Job", f.text("build_name")), f.text("build_status"), f.text("ref"), f.text("build_id")
		started, fingerprint = f.text("build_started_at"), "job "+f.text("build_name")
		event.Text = joined("\n", named("stage", f.text("build_stage")), firstLine(f.text("commit", "message")))
		if status == "failed" {
			event.Text = joined("\n", f.text("build_failure_reason"), event.Text)
		}
	} else {
		event.Text = joined("\n", pipeline.text("name"), firstLine(f.text("commit", "message")),
			strings.Join(failedJobs(f.objects("builds")), ", "))
	}
	event.Title = f.inRepo(what, outcomeWord(status), named("on", ref))
	event.StartedAt = timeOf(started)
	event.ID = joined(":", f.kind, id, status)
	event.setLabel("ref", ref)
	event.setLabel("status", status)
	if f.text("build_allow_failure") != "true" {
		event.conclude(status, joined(" ", f.repo, fingerprint, ref))
	}
	event.addLink("Pipeline", "url", address)
}

func failedJobs(jobs []object) []string {
	var failed []string
	for _, job := range jobs {
		if job.text("status") == "failed" && job.text("allow_failure") != "true" {
			failed = append(failed, "job "+job.text("name")+" failed")
		}
	}
	return failed
}

func (f *forge) gitlabDeployment(event *Event) {
	status, to := f.text("status"), f.text("environment")
	event.Title = f.inRepo("Deployment", named("to", to), outcomeWord(status))
	event.Text = f.text("commit_title")
	event.setLabel("environment", to)
	event.ID = joined(":", "deployment", f.text("deployment_id"), status)
	event.conclude(status, joined(" ", f.repo, "deployment", to))
	event.addLink("Deployment", "deployable_url", f.text("deployable_url"))
}

func (f *forge) gitlabSubject(event *Event, subject object) {
	done := map[string]string{
		"open": "opened", "close": "closed", "reopen": "reopened", "update": "updated", "merge": "merged",
		"approved": "approved",
	}
	action := cmp.Or(done[f.action], f.action)
	event.Title = f.sentence(action, f.kind, subject.text("iid"), subject.text("title"))
	if f.action == "open" || f.action == "" {
		event.Text = subject.text("description")
	}
	if f.kind == "note" {
		f.gitlabNote(event, subject)
	}
	event.setLabel("action", f.action)
	event.addLink("Details", "url", subject.text("url"))
}

// gitlabNote is a comment on an issue, a merge request, a snippet or a commit.
func (f *forge) gitlabNote(event *Event, note object) {
	for _, kind := range []string{"merge_request", "issue", "snippet"} {
		if about := f.child(kind); about != nil {
			event.Title = f.sentence("commented on", kind, cmp.Or(about.text("iid"), about.text("id")), about.text("title"))
		}
	}
	if commit := f.child("commit"); commit != nil {
		id := commit.text("id")
		event.Title = joined(": ", f.inRepo(f.actor, "commented on commit", id[:min(len(id), 8)]), firstLine(commit.text("message")))
	}
	event.Text = note.text("note")
}
