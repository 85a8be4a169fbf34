package events

import (
	"net/netip"
	"strings"
)

// fillCategory sets a category that is telling, and the same for all events of a kind: a firing and its resolve, each host.
func (b *guess) fillCategory(e *Event) {
	kind := b.find(kindRules)
	telling := kind.scalar != nil && isBareKind(b, kind.scalar)
	part := b.find(partRules)
	switch f := b.find(categoryRules); {
	case f.scalar != nil && f.rule == "a category":
		e.Category = f.text
		b.note("category", f)
	case f.scalar != nil:
		b.categorize(e, f)
	case b.subject == nil:
		if telling {
			b.categorize(e, kind)
		}
	case b.isBare() && b.rule != "the kind of event", b.outcome.status != NoStatus && b.rule == "a title":
		b.categorize(e, found{b.subject, "what the title is about"})
	case telling:
		b.categorize(e, kind)
	case part.scalar != nil && !b.isBare():
		b.categorize(e, part)
	default:
		b.categorize(e, found{b.subject, "what the title is about"})
	}
}

// categorize makes a category of a name, without what changes from one event of its kind to the next.
func (b *guess) categorize(e *Event, f found) {
	name := b.stateless(firstLine(cleaned(f.text)))
	if b.place.scalar != nil && b.place.rule == "a host" && len(b.place.text) < len(name) {
		name = strings.ReplaceAll(name, b.place.text, "n")
	}
	parts := strings.Fields(fold(name))
	if e.Category = strings.Join(parts[:min(len(parts), maxCategoryWords)], " "); e.Category == "n" {
		e.Category = ""
		return
	}
	b.origins = append(b.origins, Origin{Field: "category", Rule: f.rule, From: f.path})
}

// maxCategoryWords is how many words of a text its category has.
const maxCategoryWords = 8

// stateless removes the words that tell a state from both ends of a name: "Triggered: Checkout latency", "db-2 is down".
func (b *guess) stateless(name string) string {
	if marked, rest, ok := strings.Cut(name, "]"); ok && strings.HasPrefix(marked, "[") && strings.TrimSpace(rest) != "" {
		if o, _ := outcomeIn(marked + "]"); o.status != NoStatus {
			name = rest
		}
	}
	parts := strings.Fields(name)
	if len(parts) > 1 && strings.HasSuffix(parts[0], ":") && isStateWord(parts[0]) {
		parts = parts[1:]
	}
	for len(parts) > 1 && (isStateWord(parts[len(parts)-1]) || verbs[strings.ToLower(parts[len(parts)-1])]) {
		parts = parts[:len(parts)-1]
	}
	return strings.Trim(strings.Join(parts, " "), " :-")
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

func foldWord(word string) string {
	bare := strings.Trim(word, "()[]{}<>,;:'\"`")
	if _, err := netip.ParseAddr(bare); err == nil {
		return "n"
	}
	if _, err := netip.ParseAddrPort(bare); err == nil {
		return "n"
	}
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
