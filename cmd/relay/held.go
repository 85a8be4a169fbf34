package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newHeld() *cobra.Command {
	return newGroup("held", "List the events that are not posted for now, and why", newHeldList())
}

func newHeldList() *cobra.Command {
	return newList("List the events that a hold, flapping or an inhibition keeps, newest first", listHeld)
}

func listHeld(ctx context.Context, opts listOptions, out io.Writer) error {
	var reply struct {
		Held []pipeline.HeldRecord `json:"held"`
	}
	if err := opts.onChannel(ctx, call{path: "/held" + opts.query(), reply: &reply}); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, reply)
	}
	if len(reply.Held) == 0 {
		fmt.Fprintf(out, "channel %s holds no events\n", opts.channel)
		return nil
	}
	held := newTable(out, "ID", "SINCE", "UNTIL", "BY", "EVENT", "WHY")
	defer held.flush()
	for _, h := range reply.Held {
		until := ""
		if h.Until != nil {
			until = localTime(*h.Until)
		}
		held.row(h.ID, localTime(h.Since), until, cleaned(h.By), brief(h.Event), cleaned(h.Explanation))
	}
	return nil
}
