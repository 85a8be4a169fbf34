package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// report prints a table by file, and the mutants that survived; it is an error where too many did.
func report(out io.Writer, results []result, least float64) error {
	type row struct {
		killed, timedOut, survived int
		took                       time.Duration
	}
	rows, total := map[string]*row{}, &row{}
	for _, r := range results {
		if rows[r.file] == nil {
			rows[r.file] = &row{}
		}
		for _, sum := range []*row{rows[r.file], total} {
			sum.took += r.took
			switch r.fate {
			case killed:
				sum.killed++
			case timedOut:
				sum.timedOut++
			case survived:
				sum.survived++
			}
		}
	}
	percent := func(r *row) float64 {
		return 100 * float64(r.killed+r.timedOut) / float64(max(1, r.killed+r.timedOut+r.survived))
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tKILLED\tTIMED OUT\tSURVIVED\tNOTICED\tSECONDS EACH")
	line := func(name string, r *row) {
		n := r.killed + r.timedOut + r.survived
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f %%\t%.1f\n", name, r.killed, r.timedOut, r.survived, percent(r),
			r.took.Seconds()/float64(max(1, n)))
	}
	for _, file := range sortedKeys(rows) {
		line(file, rows[file])
	}
	line("all", total)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if total.survived > 0 {
		fmt.Fprintln(out, "\nNo test notices:")
	}
	for _, r := range results {
		if r.fate == survived {
			fmt.Fprintln(out, r.mutant)
		}
	}
	if percent(total) < least {
		return fmt.Errorf("%.1f %% of the mutants were noticed, fewer than %.1f %%: write tests for those above, "+
			"or list them with the reason where no test could notice them", percent(total), least)
	}
	return nil
}
