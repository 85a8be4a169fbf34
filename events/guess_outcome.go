package events

import (
	"cmp"
	"strings"
)

// findOutcome finds how it went: from a state, a kind of event, a truth value, or the words of the title.
func (b *guess) findOutcome(e *Event, open gaps) {
	for i := range stateRules {
		s := b.match(&stateRules[i])
		if s == nil {
			continue
		}
		b.state = found{s, stateRules[i].name}
		b.outcome, b.word = outcomeBy(&stateRules[i], s)
		if b.outcome.status != NoStatus {
			return
		}
		b.state = found{}
	}
	title := e.Title
	if b.subject != nil && open.title {
		title = b.subject.text
	}
	if b.saysItself() {
		b.outcome, b.word = outcomeIn(firstLine(title))
	}
	if text := b.find(textRules); b.outcome.status == NoStatus && b.isBare() && text.scalar != nil && len(text.text) <= maxDetail {
		b.outcome, b.word = outcomeIn(firstLine(text.text))
	}
}

// saysItself reports whether the words of the title tell how it went. The name of an alert does not: "Node is down" is its name
// when the node is up, too.
func (b *guess) saysItself() bool {
	return b.subject == nil || b.rule != alertName && b.rule != jobName
}

// outcomeBy returns the outcome that a scalar tells which a rule found.
func outcomeBy(r *guessRule, s *scalar) (o outcome, word string) {
	switch r.name {
	case wentWell:
		return truthOutcome(isTrue(s), s.name)
	case wentWrong:
		return truthOutcome(!isTrue(s), s.name)
	case exitCode:
		if n, _ := s.number(); n == 0 {
			return outcomes["succeeded"], "succeeded"
		}
		return outcomes["failed"], "failed"
	default:
		return outcomeOf(s.text)
	}
}

func isTrue(s *scalar) bool { return s.text == "true" || s.text == "1" }

// truthOutcome returns the outcome of a truth value of that name, and a word for it: "is_up": false is down.
func truthOutcome(well bool, name string) (o outcome, word string) {
	name = strings.TrimPrefix(name, "is")
	words, known := truthWords[name]
	switch {
	case !known && well:
		return outcomes["ok"], ""
	case !known:
		return outcomes["down"], ""
	case well:
		return outcomes[words[0]], words[0]
	default:
		return outcomes[words[1]], words[1]
	}
}

// truthWords are the words for a truth value of that name: if all is well, and if not.
var truthWords = map[string][2]string{
	"success": {"succeeded", "failed"}, "succeeded": {"succeeded", "failed"}, "passed": {"passed", "failed"},
	"failed": {"succeeded", "failed"}, "failure": {"succeeded", "failed"},
	"up": {"up", "down"}, "down": {"up", "down"}, "alive": {"up", "down"}, "offline": {"online", "offline"},
	"healthy": {"healthy", "unhealthy"}, "available": {"available", "unavailable"},
}

// fillState sets the status and the severity.
func (b *guess) fillState(e *Event, open gaps) {
	if open.status && b.outcome.status != NoStatus {
		e.Status = b.outcome.status
		if b.state.scalar != nil {
			b.note("status", b.state)
		} else {
			b.because("status", "a word of the title: "+b.word)
		}
	}
	if open.severity {
		b.fillSeverity(e)
	}
}

// fillSeverity sets the severity: a word or a number for it, else what the outcome means.
func (b *guess) fillSeverity(e *Event) {
	if f := b.find(severityRules); f.scalar != nil && !b.isEnd(f) {
		e.Severity = severityIn(f.text)
		if string(e.Severity) != f.text {
			e.setLabel("severity", lastPart(f.text))
		}
		b.note("severity", f)
		return
	}
	if b.fillScale(e) {
		return
	}
	status := cmp.Or(b.outcome.status, e.Status)
	switch {
	case b.outcome.severity != "" && b.outcome.status == status:
		e.Severity = b.outcome.severity
		b.because("severity", "what the outcome means: "+cmp.Or(b.word, string(status)))
	case status != NoStatus:
		e.alarm(status)
		b.because("severity", "what the status means: "+string(status))
	}
}

// isEnd reports whether a severity only repeats that all is well.
func (b *guess) isEnd(f found) bool { return f.path == b.state.pathOr() }

func (f found) pathOr() string {
	if f.scalar == nil {
		return "\x00"
	}
	return f.path
}

// fillScale sets the severity from a number, and reports whether there is one on a known scale.
func (b *guess) fillScale(e *Event) bool {
	for i := range scales {
		c := &scales[i]
		for k := range b.all {
			s := &b.all[k]
			n, isNumber := s.number()
			if c.field.place(s) == none || !isNumber || c.with != nil && b.all.beside(s, c.with) == nil {
				continue
			}
			if severity := c.severityOf(n); severity != "" {
				e.Severity = severity
				e.setLabel("severity", s.text)
				b.note("severity", found{s, c.name})
				return true
			}
		}
	}
	return false
}

// severityIn returns the severity in a text: all of it, else its last word or its first, as in ALERT_CRITICALITY_LEVEL_WARNING or
// "1 - Critical". "" = none.
func severityIn(text string) Severity {
	lower := strings.ToLower(strings.TrimSpace(text))
	if severity, ok := severities[lower]; ok {
		return severity
	}
	parts := wordsOf(text)
	if len(parts) == 0 || len(parts) > maxStateWords {
		return ""
	}
	return cmp.Or(severities[parts[len(parts)-1]], severities[parts[0]])
}

// lastPart returns the last part of a constant: WARNING of ALERT_CRITICALITY_LEVEL_WARNING.
func lastPart(text string) string { return text[strings.LastIndexByte(text, '_')+1:] }
