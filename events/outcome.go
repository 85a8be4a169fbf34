package events

import (
	"strings"
	"unicode"
)

// outcome is what a word says about an alert, a monitor or a run.
type outcome struct {
	status   Status
	severity Severity // "" = the word tells the status only
	// tells means that the word belongs into the title, where that does not say it yet: "Nightly backup failed". Words such as
	// "open" are shown by the status.
	tells bool
	// run means that the word is about one run of a job. The end of one run is not the end of another, which may have failed for
	// a reason of its own.
	run bool
	// alerts means that the word tells this of alerts only: the account of a repository is active, too.
	alerts bool
	// weak means that any other word of a body is a better one: "completed" beside "failure".
	weak bool
}

// outcomes are the outcomes by word, in lower case with spaces.
var outcomes = outcomeTable(map[string]outcome{
	"firing|triggered|trigger|alerting|problem|alarm|fired|in alarm|unresolved": {status: Firing},
	"open|opened|active|activated|reopened|raised|raise":                        {status: Firing, alerts: true},
	"created|create|new": {status: Firing, alerts: true, weak: true},
	"down|offline|unreachable|missing|late|overdue|timeout|timed out|unhealthy|failing|outage|major outage|partial outage|" +
		"lost|disconnected|unavailable|violated|violating|violation|breached|anomalous|anomaly|not responding|no data|nok|" +
		"exceeded|dead|expired": {status: Firing, severity: Error, tells: true},
	"critical|crit|fatal|emergency|disaster|panic|crashed|crash|crashing": {status: Firing, severity: Critical, tells: true},
	"degraded|warning|warn|flapping|unstable":                             {status: Firing, severity: Warning, tells: true},
	"failed|failure|fail|error|err|errored|broken|aborted|terminated|killed|still failing|partially failed|" +
		"error occurred": {status: Firing, severity: Error, tells: true, run: true},

	"resolved|resolve|ok|recovered|recovery|closed|close|cleared|clear|solved|normal|back to normal|inactive": {
		status: Resolved, severity: Info,
	},
	"up|online|reachable|available|healthy|operational|reporting|connected|not active": {
		status: Resolved, severity: Info, tells: true,
	},
	"success|succeeded|successful|successfully|passed|pass|fixed|green": {status: Resolved, severity: Info, tells: true, run: true},

	"completed|complete|finished|done|ready|deployed": {status: Resolved, severity: Info, tells: true, run: true, weak: true},
})

// outcomeTable makes a table with one word in each row of one with several words.
func outcomeTable(rows map[string]outcome) map[string]outcome {
	table := map[string]outcome{}
	for list, row := range rows {
		for word := range strings.SplitSeq(list, "|") {
			table[word] = row
		}
	}
	return table
}

// maxStateWords and maxState are how many words and bytes a text has that names a state. A longer one is a sentence.
const (
	maxStateWords = 8
	maxState      = 100
)

// outcomeOf returns what the name of a state or of a kind of event says: all of it, else its last word, as in alert.resolved,
// check_down or BUILD_FAILED, else its first, as in "failed 'make test'". The word is as the table has it.
func outcomeOf(text string) (o outcome, word string) {
	if len(text) > maxState {
		return outcome{}, ""
	}
	if o, ok := outcomes[text]; ok {
		return o, text
	}
	parts := wordsOf(text)
	if len(parts) == 0 || len(parts) > maxStateWords {
		return outcome{}, ""
	}
	whole := strings.Join(parts, " ")
	if first := outcomes[parts[0]]; first.status == Resolved && clearWords[parts[0]] {
		return first, parts[0] // ResolvedCritical
	}
	last, first := parts[len(parts)-1], parts[0]
	for _, word := range []string{whole, strings.Join(parts[max(len(parts)-2, 0):], " "), last, first} {
		if o, ok := outcomes[word]; ok {
			if negated := isNegation(parts, word); !negated {
				return o, word
			}
			return outcome{status: Firing, severity: Error, tells: true}, whole // "not ok", "not completed"
		}
	}
	return outcome{}, ""
}

// isNegation reports whether the state is the opposite of a good word, as in "not available".
func isNegation(parts []string, word string) bool {
	return len(parts) > 1 && parts[0] == "not" && outcomes[word].status == Resolved && strings.Join(parts, " ") != word
}

// wordsOf returns the words of a text in lower case. A capital after a small letter begins a word: NewErrorOccurred.
func wordsOf(text string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range text {
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteRune(' ')
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'':
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(' ')
		}
		before = r
	}
	return strings.Fields(b.String())
}

// outcomeIn returns what a sentence says: "web-1 is DOWN", "[RESOLVED] Disk full". A sentence that says both that something
// failed and that something is well says nothing, and so does a negation: "no errors".
func outcomeIn(sentence string) (o outcome, word string) {
	if o, word = markOf(sentence); word != "" {
		return o, word
	}
	parts := wordsOf(sentence)
	for i, part := range parts {
		found, ok := outcomes[part]
		if !ok || found.weak || found.alerts || !clearWords[part] && !isAtEdge(parts, i) {
			continue
		}
		if o.status == Resolved && clearWords[word] {
			return o, word // "recovered from down"
		}
		if i > 0 && negations[parts[i-1]] || o.status != NoStatus && o.status != found.status {
			return outcome{}, ""
		}
		if o.severity == "" {
			o, word = found, part
		}
	}
	return o, word
}

// markOf returns what a mark before a sentence says: "[FIRING:2] Disk full".
func markOf(sentence string) (o outcome, word string) {
	mark, _, ok := strings.Cut(sentence, "]")
	if !ok || !strings.HasPrefix(mark, "[") {
		return outcome{}, ""
	}
	if parts := wordsOf(mark); len(parts) > 0 && outcomes[parts[0]].status != NoStatus {
		return outcomes[parts[0]], parts[0]
	}
	return outcome{}, ""
}

// clearWords mean a state wherever they are in a sentence. Others have further meanings, as in "the open file", "up to date" or
// "error rate", and count only where a sentence reports a state.
var clearWords = setOf(`
	failed failing errored crashed aborted killed unreachable unhealthy degraded disconnected breached violated firing
	triggered recovered resolved cleared succeeded successful successfully`)

var negations = setOf("no 0 not without never zero any")

// isAtEdge reports whether a word is where a sentence reports a state: "Triggered: ...", "... is down", "... went offline".
func isAtEdge(parts []string, i int) bool {
	return i == 0 || i == len(parts)-1 || verbs[parts[i-1]]
}

var verbs = setOf("is are was went gone back has been became now be still to status state in")
