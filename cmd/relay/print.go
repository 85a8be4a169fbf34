package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"slackrelay/events"
)

// table prints rows with aligned columns.
type table struct{ columns *tabwriter.Writer }

// newTable makes a table with its first row. The caller must flush it.
func newTable(out io.Writer, first ...any) table {
	t := table{tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	t.row(first...)
	return t
}

func (t table) row(cells ...any) {
	format := strings.TrimSuffix(strings.Repeat("%v\t", len(cells)), "\t")
	fmt.Fprintf(t.columns, format+"\n", cells...)
}

func (t table) flush() {
	t.columns.Flush() // the terminal keeps an error
}

// printJSON prints a reply of the API with indentation.
func printJSON(out io.Writer, v any) error { return printIndented(out, v, "  ") }

// printJSONLine prints a reply of the API in one line, for programs that read one reply after the other.
func printJSONLine(out io.Writer, v any) error { return printIndented(out, v, "") }

func printIndented(out io.Writer, v any, indent string) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	fmt.Fprint(out, escapedJSON(encoded.Bytes()))
	return nil
}

// zonedTime is the layout of a time in a list. Flags take such a time too.
const zonedTime = "2006-01-02 15:04:05Z07:00"

// localTime is a time in a list, in the time zone of this machine, with its offset.
func localTime(at time.Time) string { return at.Local().Format(zonedTime) }

// brief is an event in a list: its severity and title.
func brief(e *events.Event) string {
	if e == nil {
		return "(not kept)"
	}
	title := []rune(cleaned(e.Title))
	if len(title) == 0 {
		title = []rune(cleaned(e.Text))
	}
	if len(title) == 0 {
		return string(e.Severity) + " (texts need the admin token)"
	}
	const enough = 60
	if len(title) > enough {
		title = append(title[:enough-1], '…')
	}
	return string(e.Severity) + " " + string(title)
}

// zeroUnits is what Go appends to a round duration: 30m0s, 1h0m0s.
var zeroUnits = regexp.MustCompile(`(?m)(\d[hm])(?:0m)?0s$`)

// shortly prints a duration without its zero units.
func shortly(d time.Duration) string {
	return zeroUnits.ReplaceAllString(d.String(), "$1")
}

// seconds prints a number of seconds as a duration, rounded to whole seconds.
func seconds(s float64) string {
	return shortly(time.Duration(math.Round(s)) * time.Second)
}
