package main

import (
	"fmt"
	"strings"

	"slackrelay/store"
)

// outcomesPart is the part that is made from the table of outcomes.
const outcomesPart = "src/parts/outcomes.lua"

// outcomesTable returns the text of [outcomesPart]: the codes of the outcomes, what each is counted as, and the reasons of
// drops that no level made.
func outcomesTable() string {
	var codes, counted, reasons strings.Builder
	for _, o := range store.Outcomes() {
		name := strings.ToUpper(o.String())
		fmt.Fprintf(&codes, "local %s = %d\n", name, o)
		fmt.Fprintf(&counted, "  [%s] = '%s',\n", name, o.CountedAs())
		if reason := o.Reason(); reason != "" {
			fmt.Fprintf(&reasons, "  [%s] = '%s',\n", name, reason)
		}
	}
	return "-- part outcomes: the outcomes of events, as the reply has them; for each, what it is counted as; and the reasons of\n" +
		"-- drops that no level made.\n" +
		"-- Code generated from store/outcome.go by go generate ./lua; DO NOT EDIT.\n" +
		codes.String() +
		"local COUNTED_AS = {\n" + counted.String() + "}\n" +
		"local REASONS = {\n" + reasons.String() + "}\n"
}
