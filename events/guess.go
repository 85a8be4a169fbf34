package events

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// guess understands a body of no known format by the names and values of its fields; the rules are in guess_rules.go.
type guess struct {
	all     scalars
	subject *scalar // what the title is about; nil = nothing
	rule    string  // that found it
	title   string
	// composed means that the title was made of the subject.
	composed bool
	outcome  outcome // how it went
	word     string  // that tells the outcome, as a person writes it
	state    found
	place    found
	used     map[string]bool // paths of the scalars that the event has already
	origins  []Origin
}

// found is a scalar that a rule found; its scalar is nil if no rule found any.
type found struct {
	*scalar
	rule string
}

// Origin is where a field of an event came from.
type Origin struct {
	Field string `json:"field"` // like title
	Rule  string `json:"rule"`  // what found it, like alertName
	From  string `json:"from"`  // the field of the body, like check.name; "" = several, or none
}

// gaps are the fields of an event that its source leaves to be guessed.
type gaps struct {
	title, text, category, severity, status, link, fingerprint, startedAt, id, labels bool
}

// allGaps are those of a body of no known format.
var allGaps = gaps{true, true, true, true, true, true, true, true, true, true}

// fill fills the gaps of an event from an object of its webhook. Nothing can go wrong with it: an event always gets a title.
func fill(e *Event, o object, raw jsontext.Value, open gaps) []Origin {
	b := &guess{all: scalarsOf(o), used: map[string]bool{}}
	b.findSubject()
	b.findOutcome(e, open)
	b.place = b.find(placeRules)
	if open.title {
		b.fillTitle(e, raw)
	}
	b.title = e.Title
	b.fillState(e, open)
	if open.category {
		b.fillCategory(e)
	}
	if open.text {
		b.fillText(e, raw)
	}
	if open.link {
		b.fillLink(e)
	}
	b.fillIdentity(e, raw, open)
	if open.labels {
		b.fillLabels(e)
	}
	return b.origins
}

// find returns the first scalar that one of the rules finds.
func (b *guess) find(rules []guessRule) found {
	for i := range rules {
		if s := b.match(&rules[i]); s != nil {
			return found{s, rules[i].name}
		}
	}
	return found{}
}

// match returns the scalar that a rule finds: the one nearest to the top, then the one with the most reliable name.
func (b *guess) match(r *guessRule) *scalar {
	var best *scalar
	bestPlace := none
	for i := range b.all {
		s := &b.all[i]
		if best != nil && s.depth > best.depth || r.where == atTop && s.depth > 1 {
			break // the rest is deeper
		}
		if r.where == besideTitle && (b.subject == nil || !b.isBeside(s)) {
			continue
		}
		if r.where == besideState && (b.state.scalar == nil || s.object != b.state.object) {
			continue
		}
		if place := r.words.place(s); place < bestPlace && (r.fits == nil || r.fits(b, s)) {
			best, bestPlace = s, place
		}
	}
	return best
}

// isBeside reports whether a scalar is in the object of the title. Where a name stands for its object, that is the one.
func (b *guess) isBeside(s *scalar) bool {
	if !b.subject.stands {
		return s.object == b.subject.object
	}
	return s.depth == b.subject.depth+1 && s.of == b.subject.name
}

// note records where a field came from.
func (b *guess) note(field string, f found) {
	b.origins = append(b.origins, Origin{Field: field, Rule: f.rule, From: f.path})
	b.used[f.path] = true
}

// because records why a field has a value that is not in the body.
func (b *guess) because(field, rule string) {
	b.origins = append(b.origins, Origin{Field: field, Rule: rule})
}

// fillText sets the text.
func (b *guess) fillText(e *Event, raw jsontext.Value) {
	if f := b.find(textRules); f.scalar != nil && cleaned(f.text) != e.Title {
		e.Text = cleaned(f.text)
		b.note("text", f)
		return
	}
	if b.subject == nil && e.Title != string(raw) {
		e.Text = cut(string(raw), maxRest)
		b.because("text", "the body, because nothing in it looks like a title")
	}
}

// maxRest is how much of a body without a title its event has as text, in characters.
const maxRest = 2000

// fillLink adds the best link.
func (b *guess) fillLink(e *Event) {
	if f := b.find(linkRules); f.scalar != nil {
		e.addLink("Link", "link", b.absolute(f.text))
		b.note("link", f)
	}
}

// fillIdentity sets the fingerprint, the start, and an id that a repeated delivery has too, but no later news of the same alert.
func (b *guess) fillIdentity(e *Event, raw jsontext.Value, open gaps) {
	if open.fingerprint {
		b.fillFingerprint(e)
	}
	if open.startedAt {
		if f := b.find(startRules); f.scalar != nil {
			e.StartedAt = timeOf(f.text)
			b.note("started_at", f)
		}
	}
	if !open.id || e.Fingerprint == "" || !open.startedAt && e.Status != NoStatus {
		return // Event.identify makes one of the start
	}
	switch f := b.find(updateRules); {
	case f.scalar != nil:
		e.ID = joined(":", e.Fingerprint, string(e.Status), timeOf(f.text).UTC().Format(time.RFC3339Nano))
		b.because("id", "the fingerprint, the status and "+f.path)
	case e.Status == NoStatus:
		sum := sha256.Sum256(raw)
		e.ID = e.Fingerprint + ":" + hex.EncodeToString(sum[:8])
		b.because("id", "the fingerprint and the contents of the body")
	}
}

// fillFingerprint sets what a firing and its resolve have in common: an id, else the name of what is monitored and where it is.
func (b *guess) fillFingerprint(e *Event) {
	if f := b.find(fingerprintRules); f.scalar != nil {
		e.Fingerprint = f.text
		b.note("fingerprint", f)
		return
	}
	if b.subject == nil || b.outcome.status == NoStatus || b.outcome.run || b.rule == jobName {
		return
	}
	subject, place := b.stateless(b.subject.text), ""
	if (!b.isBare() || b.state.scalar == nil) && subject == b.subject.text {
		return // the sentence of the resolve may be another one
	}
	if b.place.scalar != nil {
		place = b.place.text
	}
	e.Fingerprint = joined(" on ", subject, place, b.labels())
	b.because("fingerprint", "the name, the place and the labels")
}

// labels returns the labels of the body that tell one alert from another.
func (b *guess) labels() string {
	var all []string
	for i := range b.all {
		if s := &b.all[i]; isOfLabels(s) && s.name != "severity" && s.name != "priority" {
			all = append(all, s.name+"="+s.text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
