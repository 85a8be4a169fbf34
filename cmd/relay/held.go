package main

import (
	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newHeld() *cobra.Command {
	return newGroup("held", "List the events that are not posted for now, and why", newHeldList())
}

func newHeldList() *cobra.Command {
	return newList("List the events that a hold, flapping or an inhibition keeps, newest first", records[pipeline.HeldRecord]{
		name: "held", verb: "holds", noun: "events", columns: []any{"ID", "SINCE", "UNTIL", "BY", "EVENT", "WHY"}, row: heldRow,
	})
}

func heldRow(h pipeline.HeldRecord) []any {
	until := ""
	if h.Until != nil {
		until = localTime(*h.Until)
	}
	return []any{h.ID, localTime(h.Since), until, cleaned(h.By), brief(h.Event), cleaned(h.Explanation)}
}
