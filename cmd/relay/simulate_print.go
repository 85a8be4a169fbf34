package main

import (
	"fmt"
	"io"

	"slackrelay/simulation"
)

// shownCategories is how many categories the table lists.
const shownCategories = 25

// printReport prints what the runs of a trace posted, and what was advised.
func printReport(out io.Writer, report *simulation.Report) {
	fmt.Fprint(out, report.Title, "\n\n")
	totals := newTable(out, "SETTINGS", "EVENTS", "MESSAGES", "UNHEARD", "CRITICAL LOST", "LONGEST SILENCE", "DROPPED", "MERGED", "MUTED",
		"EXPIRED", "EDITS", "FEWER", "PROBLEMS", "NOT HEARD", "CRITICAL NOT HEARD", "LATEST NOTICE")
	for _, r := range report.Runs {
		totals.row(r.Name, r.Received, r.Messages, r.Unheard, r.CriticalLost, seconds(r.LongestSilence), r.Dropped, r.Merged, r.Muted,
			r.Expired, r.Edits, fewer(&r), r.Problems, r.ProblemsUnheard, r.CriticalUnheard, seconds(r.LatestNotice))
	}
	totals.flush()
	if a := report.Advice; a != nil {
		fmt.Fprintf(out, "\n%s\nCompared with %d other settings: %s.\n", a.Sentence, a.Compared, a.Grid)
	}
	for i := range report.Runs {
		fmt.Fprint(out, "\n", report.Runs[i].Name, "\n")
		printCategories(out, &report.Runs[i])
	}
}

// fewer writes by how much there are fewer messages than events.
func fewer(r *simulation.Result) string {
	return fmt.Sprintf("%.1f %%", 100*(1-float64(r.Messages)/float64(max(1, r.Received))))
}

func printCategories(out io.Writer, r *simulation.Result) {
	categories := newTable(out, "CATEGORY", "EVENTS", "SENT", "MERGED", "DROPPED", "FIRST NOTICE", "LONGEST SILENCE")
	for _, c := range r.Categories[:min(len(r.Categories), shownCategories)] {
		first := "never"
		if c.FirstNoticeDelay != nil {
			first = seconds(*c.FirstNoticeDelay)
		}
		categories.row(c.Category, c.Received, c.Sent, c.Merged, c.Dropped, first, seconds(c.LongestSilence))
	}
	categories.flush()
	if more := len(r.Categories) - shownCategories; more > 0 {
		fmt.Fprintf(out, "... and %d more; --out and --json have them all\n", more)
	}
}
