package events

import (
	"cmp"
	"strings"
)

// jenkins is the webhook of Jenkins' Notification plugin (https://plugins.jenkins.io/notification/).
var jenkins = source{
	name:   "jenkins",
	marks:  marks{fields: []string{"build"}},
	claims: func(in input) bool { return in.has("name", "build") && in.child("build").has("phase") },
	decode: one(decodeJenkins),
}

func decodeJenkins(in input) Event {
	build, name := in.child("build"), cmp.Or(in.text("display_name"), in.text("name"))
	number, phase, status := strings.TrimSuffix(build.text("number"), ".0"), build.text("phase"), build.text("status")
	outcome := cmp.Or(status, phase)
	if phase == "STARTED" || phase == "QUEUED" { // a status is the one of the build before
		outcome = phase
	}
	job := cmp.Or(in.text("url"), named("job", in.text("name"))) // branches of two projects may have the same name
	event := Event{
		ID: joined(":", job, number, phase, status), Category: in.text("name"), Severity: Info,
		Title: joined(" ", name, named("#", number), outcomeWord(outcome)), Text: joined("\n", build.text("notes"), lastLines(build.text("log"))),
		StartedAt: timeOf(build.text("timestamp")),
	}
	event.Title = strings.Replace(event.Title, "# ", "#", 1)
	if phase != "STARTED" && phase != "QUEUED" {
		event.conclude(status, job)
	}
	event.setLabel("phase", phase)
	event.setLabel("status", status)
	event.setLabel("branch", build.text("scm", "branch"))
	event.addLink("Build", "build_url", cmp.Or(build.text("full_url"), build.text("url")))
	return event
}

// maxLogLines is how many lines of a log are kept.
const maxLogLines = 10

func lastLines(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-maxLogLines):], "\n")
}
