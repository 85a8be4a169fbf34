package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// size is how many channels and replicas a system has.
type size struct {
	channels, replicas int
}

// figure is one measured value. Infinity = there was a time-out, so that it sorts after all values.
type figure struct {
	size
	name, unit string
	value      float64
}

// text returns the value with three significant digits.
func (f figure) text() string {
	switch magnitude := math.Abs(f.value); {
	case math.IsInf(f.value, 1):
		return "time-out"
	case magnitude >= 100 || f.value == math.Trunc(f.value):
		return strconv.FormatFloat(f.value, 'f', 0, 64)
	default:
		return strconv.FormatFloat(f.value, 'g', 3, 64)
	}
}

// figures are those of one size.
type figures struct {
	size
	all []figure
}

func (f *figures) add(name, unit string, value float64) {
	f.all = append(f.all, figure{f.size, name, unit, value})
}

// printTable writes a row for each figure, and a column for each size.
func printTable(out io.Writer, all []figure) {
	var sizes []size
	var rows []figure // the first one of each name
	values := map[size]map[string]string{}
	for _, f := range all {
		if values[f.size] == nil {
			values[f.size] = map[string]string{}
			sizes = append(sizes, f.size)
		}
		values[f.size][f.name] = f.text()
		if !slices.ContainsFunc(rows, func(row figure) bool { return row.name == f.name }) {
			rows = append(rows, f)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "channels x replicas\t")
	for _, s := range sizes {
		fmt.Fprintf(table, "%d x %d\t", s.channels, s.replicas)
	}
	fmt.Fprintln(table)
	for _, row := range rows {
		fmt.Fprintf(table, "%s (%s)\t", row.name, row.unit)
		for _, s := range sizes {
			fmt.Fprintf(table, "%s\t", values[s][row.name])
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
}

// historyHeader names the columns of the history: a row for each figure, so that a new figure changes no column.
var historyHeader = []string{"version", "date", "cpus", "channels", "replicas", "figure", "unit", "value"}

// appendHistory appends figures to the history, and makes the file if there is none.
func appendHistory(path, version string, now time.Time, all []figure) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // it is committed: all may read it
	if err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	defer file.Close()
	rows := csv.NewWriter(file)
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		_ = rows.Write(historyHeader) // Error reports it
	}
	for _, f := range all {
		_ = rows.Write([]string{
			version, now.Format(time.DateOnly), strconv.Itoa(runtime.NumCPU()), strconv.Itoa(f.channels), strconv.Itoa(f.replicas),
			f.name, f.unit, f.text(),
		})
	}
	rows.Flush()
	if err := rows.Error(); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// timeout is the value of a figure that could not be measured because the relay gave up, or took too long.
var timeout = math.Inf(1)

// median returns the middle of values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// milliseconds returns a duration in milliseconds.
func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
