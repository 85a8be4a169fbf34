package simulation

import (
	"fmt"
	"strings"
)

// maxNamed is how many categories a verdict names.
const maxNamed = 5

// verdicts returns what each run means, in words.
func (r Report) verdicts() []string {
	all := make([]string, len(r.Runs))
	for i := range r.Runs {
		all[i] = r.Runs[i].verdict()
		if i > 0 {
			all[i] += " " + comparedWith(&r.Runs[i], &r.Runs[0])
		}
	}
	return all
}

// verdict says what was posted, and what was not.
func (r *Result) verdict() string {
	text := fmt.Sprintf("%s for %s.", plural(r.Messages, "message"), plural(r.Received, "event"))
	if names := r.unheardNames(); len(names) > 0 {
		text += fmt.Sprintf(" %s unheard, although events were dropped or expired: %s.", wentWord(r.Unheard), strings.Join(names, ", "))
	} else {
		text += " Every category was heard"
		if r.LongestSilence > 0 {
			text += fmt.Sprintf(", at the latest after %s (%s)", inWords(r.LongestSilence), r.LongestSilent)
		}
		text += "."
	}
	if r.CriticalLost > 0 {
		text += fmt.Sprintf(" %s lost.", wasWord(r.CriticalLost, "critical event"))
	}
	return text
}

// unheardNames names the categories that were not heard, those with critical events first.
func (r *Result) unheardNames() []string {
	var critical, others []string
	for i := range r.Categories {
		switch c := &r.Categories[i]; {
		case !c.IsUnheard():
		case c.Critical > 0:
			critical = append(critical, c.Category+" (critical)")
		default:
			others = append(others, c.Category)
		}
	}
	names := append(critical, others...)
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return names
}

func wentWord(n int) string {
	if n == 1 {
		return "1 category went"
	}
	return categories(n) + " went"
}

func wasWord(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing + " was"
	}
	return plural(n, thing) + " were"
}

// comparedWith says how many messages a run posted, compared with another.
func comparedWith(r, first *Result) string {
	switch {
	case first.Messages == 0 || r.Messages == first.Messages:
		return "As many messages as with 1."
	case r.Messages < first.Messages:
		return fmt.Sprintf("%.0f %% fewer messages than with 1.", 100*(1-float64(r.Messages)/float64(first.Messages)))
	default:
		return fmt.Sprintf("%.0f %% more messages than with 1.", 100*(float64(r.Messages)/float64(first.Messages)-1))
	}
}
