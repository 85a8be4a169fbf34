package simulation

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Candidate is a setting that may be advised instead of the present one.
type Candidate struct {
	Setting
	Changes []Change
}

// Change is one setting that a candidate changes.
type Change struct {
	Name string `json:"name"` // "category_limit"
	From string `json:"from"`
	To   string `json:"to"`
}

// Advice is what a trace suggests to change, in one sentence.
type Advice struct {
	// Found is whether a candidate is better. A better candidate leaves fewer categories unheard, or posts at least a tenth
	// fewer messages. It leaves no category unheard that is heard now. No category with critical events is silent for longer
	// than Silence, unless it is silent for that long now, and no other category, unless any is.
	Found    bool     `json:"found"`
	Sentence string   `json:"sentence"`
	Changes  []Change `json:"changes,omitempty"`
	Compared int      `json:"compared"` // how many candidates were played
	Grid     string   `json:"grid"`     // which they were, in words
	Silence  float64  `json:"silence"`  // in seconds

	best Result
}

// Best is the result of the advised setting; the zero value where none was found.
func (a *Advice) Best() Result { return a.best }

// worthwhile is by which share of the messages a candidate must post less to be advised for that alone.
const worthwhile = .1

// Advise compares the present result with those of candidates, which were played on the same trace in the same order. silence is
// how long a category may be silent; see [Advice].
func Advise(present Result, candidates []Candidate, results []Result, silence time.Duration) Advice {
	a := Advice{Compared: len(candidates), Silence: silence.Seconds()}
	for i := range results {
		r := &results[i]
		if isAllowed(&present, r, a.Silence) && isBetter(&present, r) && (!a.Found || compareResults(r, &a.best) < 0) {
			a.Found = true
			a.Changes = candidates[i].Changes
			a.best = *r
		}
	}
	if !a.Found {
		a.Sentence = fmt.Sprintf("Nothing better was found: %s for %s; %s.",
			plural(present.Messages, "message"), plural(present.Received, "event"), heardInWords(&present, nil))
		return a
	}
	a.Sentence = fmt.Sprintf("With %s, %s instead of %s would have been posted for %s; %s.", changesInWords(a.Changes),
		plural(a.best.Messages, "message"), group(present.Messages), plural(present.Received, "event"), heardInWords(&a.best, &present))
	return a
}

// isAllowed reports whether a candidate hides nothing that the present setting shows: no category is unheard that is heard
// now, and none of these is silent for too long.
func isAllowed(present, candidate *Result, silence float64) bool {
	for i := range candidate.Categories {
		c := &candidate.Categories[i]
		before := present.category(c.Category)
		if before == nil || before.IsUnheard() {
			continue
		}
		longest := max(silence, before.LongestSilence)
		if c.Critical == 0 {
			longest = max(silence, present.LongestSilence)
		}
		if c.IsUnheard() || c.LongestSilence > longest {
			return false
		}
	}
	return true
}

// isBetter reports whether a candidate is worth a change.
func isBetter(present, candidate *Result) bool {
	if candidate.Unheard != present.Unheard {
		return candidate.Unheard < present.Unheard
	}
	return float64(candidate.Messages) <= (1-worthwhile)*float64(present.Messages)
}

// compareResults orders results, the best first.
func compareResults(a, b *Result) int {
	return cmp.Or(
		cmp.Compare(a.UnheardCritical, b.UnheardCritical), cmp.Compare(a.Unheard, b.Unheard), cmp.Compare(a.Messages, b.Messages),
		cmp.Compare(a.CriticalLost, b.CriticalLost), cmp.Compare(a.LongestSilence, b.LongestSilence),
	)
}

func changesInWords(changes []Change) string {
	var words []string
	for _, c := range changes {
		words = append(words, fmt.Sprintf("%s %s instead of %s", c.Name, c.To, c.From))
	}
	return joinWords(words)
}

// heardInWords says what a result leaves unheard; instead of another result, unless that is nil.
func heardInWords(r, instead *Result) string {
	longest := inWords(r.LongestSilence)
	if instead != nil && inWords(instead.LongestSilence) != longest {
		longest += " instead of " + inWords(instead.LongestSilence)
	}
	var parts []string
	switch {
	case r.Unheard > 0 && instead != nil:
		parts = append(parts, fmt.Sprintf("%s would have gone unheard instead of %d, and no other for longer than %s",
			categories(r.Unheard), instead.Unheard, longest))
	case r.Unheard > 0:
		parts = append(parts, fmt.Sprintf("%s went unheard, and no other for longer than %s", categories(r.Unheard), longest))
	case instead != nil && instead.Unheard > 0:
		parts = append(parts, fmt.Sprintf("every category would have been heard instead of all but %d, and none would have gone unheard "+
			"for longer than %s", instead.Unheard, longest))
	case instead != nil:
		parts = append(parts, "no category would have gone unheard for longer than "+longest)
	default:
		parts = append(parts, "no category went unheard for longer than "+longest)
	}
	if instead != nil && r.CriticalLost != instead.CriticalLost {
		parts = append(parts, fmt.Sprintf("%s would have been dropped instead of %s", plural(r.CriticalLost, "critical event"),
			group(instead.CriticalLost)))
	}
	return strings.Join(parts, "; ")
}

func categories(n int) string {
	if n == 1 {
		return "1 category"
	}
	return group(int64(n)) + " categories"
}
