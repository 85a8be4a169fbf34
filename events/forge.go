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

// conclude sets what follows from the outcome of a run: a failure is firing, and the next success, which has the same
// fingerprint, resolves it. A run that has not ended or was stopped is neither.
func (e *Event) conclude(outcome, fingerprint string) {
	outcome = strings.ToLower(outcome)
	if severity, failed := failures[outcome]; failed {
		e.Severity, e.Status, e.Fingerprint = severity, Firing, fingerprint
	} else if successes[outcome] {
		e.Status, e.Fingerprint = Resolved, fingerprint
	}
}

// successes are the outcomes of a run that resolve a failure.
var successes = map[string]bool{"success": true, "successful": true, "succeeded": true, "fixed": true}

// outcomeWord is the verb for an outcome.
func outcomeWord(outcome string) string {
	switch outcome = strings.ToLower(outcome); outcome {
	case "failure":
		return "failed"
	case "success", "successful":
		return "succeeded"
	case "error":
		return "ended in error"
	default:
		return spaced(outcome)
	}
}
