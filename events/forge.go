package events

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// forge is one webhook about a repository, of GitHub, Gitea, GitLab or Bitbucket.
type forge struct {
	object
	kind, action string // what it is about, and what was done
	repo, actor  string
}

// sentence is "octocat opened issue #1 in o/r: Title".
func (f *forge) sentence(action, what, number, title string) string {
	if number != "" {
		number = "#" + number
	}
	return joined(": ", f.inRepo(f.actor, spaced(action), spaced(what), number), title)
}

// inRepo is "octocat pushed 3 commits to main in o/r".
func (f *forge) inRepo(words ...string) string {
	return joined(" ", append(words, named("in", f.repo))...)
}

// maxCommits is how many commits of a push are listed.
const maxCommits = 10

func commitList(commits []jsontext.Value) string {
	var lines []string
	for _, raw := range commits[:min(len(commits), maxCommits)] {
		commit := objectOf(raw)
		id := commit.first("id", "hash")
		line := joined(" ", id[:min(len(id), 7)], firstLine(commit.text("message")),
			named("–", cmp.Or(commit.text("author", "username"), commit.text("author", "name"))))
		if line != "" {
			lines = append(lines, line)
		}
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
		return spaced(outcome)
	}
}
