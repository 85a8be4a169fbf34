package events

import (
	"net/netip"
	"regexp"
	"strings"
)

// fillCategory sets a category that is telling, and the same for all events of a kind: a firing and its resolve, each host.
func (b *guess) fillCategory(e *Event) {
	switch f := b.find(categoryRules); {
	case f.scalar != nil && f.rule == aCategory:
		e.Category = f.text
		b.note("category", f)
	case f.scalar != nil:
		b.categorize(e, f)
	default:
		b.categorize(e, b.classOf())
	}
}

// classOf returns what a body is about that names no alert and no job: the subject of an alert, else the kind of event, else a part
// of the system.
func (b *guess) classOf() found {
	subject := found{b.subject, aboutTitle}
	kind, isTelling := b.kind()
	if b.isNamed() {
		return subject
	}
	part := b.find(partRules)
	hasOutcome := b.outcome.status != NoStatus
	switch {
	case isTelling:
		return kind
	case part.scalar != nil && !b.isBare() && b.rule != aTitle:
		return part
	case kind.scalar != nil && kind.text != "" && !hasOutcome && !voidKinds[kind.text]:
		return kind
	default:
		return subject
	}
}

// isNamed reports whether the title is a good name for the category: a name, or the title of something that has a state.
func (b *guess) isNamed() bool {
	switch {
	case b.subject == nil, b.rule == eventKind:
		return false
	case b.rule == aTitle:
		return b.outcome.status != NoStatus
	default:
		return b.isBare()
	}
}

// kind returns the kind of event without words for its state, and whether it tells more than that something happened.
func (b *guess) kind() (f found, isTelling bool) {
	if f = b.find(kindRules); f.scalar == nil || f.scalar == b.subject {
		return found{}, false
	}
	if isBareKind(b, f.scalar) {
		return f, true
	}
	parts := wordsOf(f.text)
	for len(parts) > 0 && isStateWord(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	bare := *f.scalar
	bare.text = strings.Join(parts, "-")
	f.scalar = &bare
	return f, bare.text != "" && !plainKinds[bare.text]
}

// voidKinds are kinds that are no category either.
var voidKinds = setOf(`
	alert event webhook notification message default generic text string object record create update created updated edit
	edited new insert delete deleted change changed add trigger summary al url email http`)

// categorize makes a category of a name, without what changes from one event of its kind to the next.
func (b *guess) categorize(e *Event, f found) {
	if f.scalar == nil {
		return
	}
	name := b.stateless(headlineOf(f.text))
	if b.place.scalar != nil && b.place.rule == aHost && len(b.place.text) < len(name) {
		short, _, _ := strings.Cut(b.place.text, ".")
		name = strings.ReplaceAll(strings.ReplaceAll(name, b.place.text, "n"), short, "n")
	}
	if f.rule == aboutTitle || f.rule == eventKind {
		name = fold(name)
	} else {
		name = foldIDs(name)
	}
	parts := strings.Fields(name)
	if e.Category = strings.Join(parts[:min(len(parts), maxCategoryWords)], " "); e.Category == "n" {
		e.Category = ""
		return
	}
	b.origins = append(b.origins, Origin{Field: "category", Rule: f.rule, From: f.path})
}

// aboutTitle is the rule for a category that is made of the title.
const aboutTitle = "what the title is about"

// maxCategoryWords is how many words of a text its category has.
const maxCategoryWords = 8

// stateless removes the words that tell a state from both ends of a name: "Triggered: Checkout latency", "db-2 is down".
func (b *guess) stateless(name string) string {
	if _, mark := markOf(name); mark != "" {
		name = name[strings.IndexByte(name, ']')+1:]
	}
	parts := strings.Fields(name)
	if len(parts) > 1 && strings.HasSuffix(parts[0], ":") && isStateWord(parts[0]) {
		parts = parts[1:]
	}
	for len(parts) > 1 && isEndOfState(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	if short := strings.Trim(strings.Join(parts, " "), " :-.!"); len(short) >= minName {
		return short
	}
	return name
}

// minName is the length of the shortest name that is left without its state, in bytes: "An Error" stays.
const minName = 3

// isEndOfState reports whether a word at the end of a name tells its state, or only leads to that: "is", "->".
func isEndOfState(word string) bool {
	bare := strings.ToLower(strings.Trim(word, "->=:"))
	return bare == "" || verbs[bare] || isStateWord(word)
}

func isStateWord(word string) bool {
	o, ok := outcomes[strings.ToLower(strings.Trim(word, ":.!()[]"))]
	return ok && o.status != NoStatus
}

// fold replaces what differs from one event to the next by "n": numbers, ids in hex, UUIDs, addresses and times. Names of hosts
// keep their letters: web-1 becomes web-n.
func fold(text string) string {
	parts := strings.Fields(text)
	for i, part := range parts {
		parts[i] = foldWord(part)
	}
	return strings.Join(parts, " ")
}

// foldIDs replaces what cannot be part of a name that somebody chose: ids in hex, long numbers and addresses.
func foldIDs(name string) string {
	parts := strings.Fields(name)
	for i, part := range parts {
		if folded := foldWord(part); len(part)-len(folded) >= minHex-1 {
			parts[i] = folded
		}
	}
	return strings.Join(parts, " ")
}

var uuid = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b`)

func foldWord(word string) string {
	bare := strings.Trim(word, "()[]{}<>,;:'\"`")
	if _, err := netip.ParseAddr(bare); err == nil {
		return "n"
	}
	if _, err := netip.ParseAddrPort(bare); err == nil {
		return "n"
	}
	word = uuid.ReplaceAllString(word, "n")
	var b strings.Builder
	for i := 0; i < len(word); {
		end := i
		for end < len(word) && isHex(word[end]) {
			end++
		}
		run := word[i:end]
		switch {
		case run == "":
			b.WriteByte(word[i])
			i++
			continue
		case isOnly(run, isDigit), len(run) >= minHex && strings.ContainsAny(run, "0123456789"):
			run = "n"
		default:
			run = foldDigits(run)
		}
		b.WriteString(run)
		i = end
	}
	return collapsed(b.String())
}

// minHex is the length of the shortest text that is taken for an id in hex rather than for a word.
const minHex = 6

// foldDigits replaces each run of digits by "n".
func foldDigits(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !isDigit(text[i]):
			b.WriteByte(text[i])
		case i == 0 || !isDigit(text[i-1]):
			b.WriteByte('n')
		}
	}
	return b.String()
}

// collapsed makes one n of several with signs between them, as times, versions and UUIDs leave them: n:n:n, n.n.n, n-n-n.
func collapsed(word string) string {
	for _, sign := range []string{":", ".", "-", "/", "T", "_"} {
		for strings.Contains(word, "n"+sign+"n") && strings.Trim(word, "nT:.-/_Z()[],") == "" {
			word = strings.ReplaceAll(word, "n"+sign+"n", "n")
		}
	}
	return word
}
