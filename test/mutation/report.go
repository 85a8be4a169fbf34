package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// row is the fates of the mutants of a file or of a room.
type row struct {
	killed, timedOut, survived int
	took                       time.Duration
}

func (r *row) add(one result) {
	r.took += one.took
	switch one.fate {
	case killed:
		r.killed++
	case timedOut:
		r.timedOut++
	case survived:
		r.survived++
	}
}

func (r *row) all() int { return r.killed + r.timedOut + r.survived }

func (r *row) percent() float64 { return 100 * float64(r.killed+r.timedOut) / float64(max(1, r.all())) }

// room is the Go package, or the scripts.
func room(file string) string {
	if strings.HasSuffix(file, ".lua") {
		return "all scripts"
	}
	return "all of " + filepath.Dir(file)
}

// report prints a table by file and by room, and the mutants that survived. A survivor is an error: those that no test can
// notice are listed, and were not run.
func report(out io.Writer, results []result, list string) error {
	files, rooms, total := map[string]*row{}, map[string]*row{}, &row{}
	for _, r := range results {
		for name, rows := range map[string]map[string]*row{r.file: files, room(r.file): rooms} {
			if rows[name] == nil {
				rows[name] = &row{}
			}
			rows[name].add(r)
		}
		total.add(r)
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tKILLED\tTIMED OUT\tSURVIVED\tNOTICED\tSECONDS EACH")
	line := func(name string, r *row) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f %%\t%.1f\n", name, r.killed, r.timedOut, r.survived, r.percent(),
			r.took.Seconds()/float64(max(1, r.all())))
	}
	for _, rows := range []map[string]*row{files, rooms} {
		for _, name := range sortedKeys(rows) {
			line(name, rows[name])
		}
	}
	line("all", total)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if total.survived == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nNo test notices:")
	for _, r := range results {
		if r.fate == survived {
			fmt.Fprintln(out, r.mutant)
		}
	}
	return fmt.Errorf("no test notices %d of %d mutants (%.1f %% are noticed): write tests for those above, "+
		"or list them in %s with the reason if no test can notice them", total.survived, len(results), total.percent(), list)
}
