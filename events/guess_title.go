package events

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// findSubject finds what the title is about.
func (b *guess) findSubject() {
	f := b.find(titleRules)
	b.subject, b.rule = f.scalar, f.rule
}

// subjectOf returns what an object is about; "" = it does not say.
func subjectOf(o object) string {
	b := &guess{all: scalarsOf(o), used: map[string]bool{}}
	if b.findSubject(); b.subject == nil {
		return ""
	}
	return headlineOf(b.subject.text)
}

// bareRules are the rules that find a name, which needs more words to be a title: what happened, and where.
var bareRules = []string{
	alertName, jobName, aPhrase, aService, aName, watchedAddress, aPlace,
	eventKind,
}

func (b *guess) isBare() bool { return slices.Contains(bareRules, b.rule) }

// fillTitle composes the title: the subject, how it went, and the place, as far as the subject does not tell these.
func (b *guess) fillTitle(e *Event, raw jsontext.Value) {
	if b.subject == nil {
		e.Title = b.lastResort(raw)
		b.because("title", "the first fields, because nothing looks like a title")
		return
	}
	b.note("title", found{b.subject, b.rule})
	b.composed = true
	subject := headlineOf(b.subject.text)
	switch {
	case b.tells(subject):
		e.Title = subject
	case b.outcome.tells && b.word != "":
		e.Title = appended(subject, spaced(b.word))
	case b.isBare():
		e.Title = b.explained(subject)
	default:
		e.Title = subject
	}
	if b.place.scalar != nil && !hasPlace(subject, b.place.text) {
		e.Title += " on " + firstLine(cleaned(b.place.text))
		b.note("title", found{b.place.scalar, "where it happened: " + b.place.rule})
	}
}

// hasPlace reports whether a title tells the place: all of it, or a host without its domain.
func hasPlace(title, place string) bool {
	host, _, _ := strings.Cut(place, ".")
	isHost := strings.Trim(host, "0123456789") != ""
	return contains(title, place) || contains(place, title) || isHost && contains(title, host)
}

// explained adds to a bare name what happened: a short text, else the kind of event, else further fields.
func (b *guess) explained(name string) string {
	kind := b.find(kindRules)
	switch detail := b.detail(); {
	case detail != "" && !strings.Contains(name, detail):
		return name + ": " + detail
	case b.rule == eventKind && b.place.scalar == nil:
		return b.withFields(name)
	case kind.scalar != nil && isBareKind(b, kind.scalar) && !contains(name, kind.text) && !strings.Contains(name, " "):
		b.used[kind.path] = true
		return spaced(kind.text) + ": " + name
	case !strings.Contains(name, " ") && b.place.scalar == nil && b.rule != alertName:
		return b.withFields(name)
	default:
		return name
	}
}

// withFields adds the first further fields to a name that tells too little.
func (b *guess) withFields(name string) string {
	telling, _ := b.assignments()
	return joined(": ", name, strings.Join(telling[:min(len(telling), maxParts-1)], ", "))
}

// headlineOf returns the first line of a text, or its first sentence if the line is long.
func headlineOf(text string) string {
	line := firstLine(cleaned(text))
	if isWatchedAddress(line) {
		_, line, _ = strings.Cut(line, "://")
		return strings.TrimSuffix(line, "/")
	}
	if end := strings.Index(line, ". "); len(line) > maxHeadline && end > 0 {
		return line[:end]
	}
	return line
}

func isWatchedAddress(line string) bool { return isLink(line) && !strings.Contains(line, " ") }

// maxHeadline is the length of a line that is a title as it is, in bytes.
const maxHeadline = 120

// appended adds a word to a title: "Nightly backup failed", but "Node core-1 is down: up".
func appended(title, word string) string {
	if len(strings.Fields(title)) > 4 || strings.HasSuffix(title, ".") {
		return strings.TrimSuffix(title, ".") + ": " + word
	}
	return title + " " + word
}

// tells reports whether a title tells the outcome already.
func (b *guess) tells(title string) bool {
	for _, part := range wordsOf(title) {
		if o := outcomes[part]; o.status == b.outcome.status && o.status != NoStatus && o.tells && !o.weak || part == b.word {
			return true
		}
	}
	return false
}

// detail returns a short text that tells what happened to a bare name: "web-1: certificate expired".
func (b *guess) detail() string {
	if strings.Contains(b.subject.text, " ") {
		return ""
	}
	if f := b.find(textRules); f.scalar != nil && f.object == b.subject.object {
		if line := cleaned(f.text); len(line) <= maxDetail && !strings.Contains(line, "\n") {
			return line
		}
	}
	return ""
}

// maxDetail is the length of the longest text that a title has beside a bare name, in bytes.
const maxDetail = 120

// contains reports whether a text contains another one, in any case.
func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// lastResort makes a title of the first fields that tell something, else of any, else of the body.
func (b *guess) lastResort(raw jsontext.Value) string {
	telling, others := b.assignments()
	if parts := append(telling, others...); len(parts) > 0 {
		return strings.Join(parts[:min(len(parts), maxParts)], ", ")
	}
	return cut(firstLine(string(raw)), maxDetail)
}

// maxParts is how many fields a title has that is made of fields.
const maxParts = 3

// assignments returns the fields that are not in the title yet as name=value: those that tell something, and the ids and times.
func (b *guess) assignments() (telling, others []string) {
	for i := range b.all {
		s := &b.all[i]
		if s.stands || s.aside || isSecret(s.name) || len(s.text) > maxDetail || b.used[s.path] {
			continue
		}
		part := s.path + "=" + firstLine(s.text)
		if isTime(b, s) || isLink(s.text) || isIdentifier(s.text) || strings.HasSuffix(s.name, "id") || strings.HasSuffix(s.name, "version") {
			others = append(others, part)
			continue
		}
		telling = append(telling, part)
	}
	return telling, others
}
