package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newDrops() *cobra.Command {
	return newGroup("drops", "List, explain or replay dropped events", newDropsList(), newDropsExplain(), newDropsReplay())
}

func newDropsList() *cobra.Command {
	return newList("List the dropped events, newest first", records[pipeline.DropRecord]{
		name: "drops", verb: "has", noun: "dropped events",
		columns: []any{"ID", "WHEN", "CATEGORY", "REFUSED BY", "USED", "WOULD FIT AFTER", "EVENT"}, row: dropRow,
	})
}

func dropRow(d pipeline.DropRecord) []any {
	used, fits := "", ""
	if d.Used >= 0 {
		used = fmt.Sprintf("%d/%d", d.Used, d.Limit)
	}
	if d.RetryAfter > 0 {
		fits = time.Duration(d.RetryAfter * float64(time.Second)).Round(time.Second).String()
	}
	return []any{d.ID, localTime(d.At), d.Category, d.Level, used, fits, brief(d.Event)}
}

func newDropsExplain() *cobra.Command {
	var opts opsOptions
	cmd := forEach(&opts, "explain ID", "Explain why an event was dropped, by the id of the drop or of the event",
		func(ctx context.Context, id string, out io.Writer) error { return explainDrop(ctx, &opts, id, out) })
	cmd.ValidArgsFunction = opts.asked(opts.drops)
	return cmd
}

func explainDrop(ctx context.Context, opts *opsOptions, id string, out io.Writer) error {
	var reply struct {
		Drop        pipeline.DropRecord `json:"drop"`
		Explanation string              `json:"explanation"`
	}
	if err := opts.onChannel(ctx, call{path: "/drops/" + url.PathEscape(id), reply: &reply}); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, reply)
	}
	d := reply.Drop
	shortened := ""
	if d.Event != nil && d.Event.Shortened > 0 {
		shortened = fmt.Sprintf(", shortened from %d bytes", d.Event.Shortened)
	}
	fmt.Fprintf(out, "%s%s\nchannel %s, category %s, dropped at %s\n%s\n%s\n",
		brief(d.Event), shortened, opts.channel, d.Category, localTime(d.At), reply.Explanation, replayHint(opts, d))
	return nil
}

// replayHint is the command that replays a dropped event, or why none can.
func replayHint(opts *opsOptions, d pipeline.DropRecord) string {
	switch {
	case d.Event == nil:
		return "it cannot be replayed: the event was not kept"
	case d.Permanent:
		return "a replay would be dropped again; post it past the limits with: " + opts.command("relay drops replay", "--force", d.ID)
	default:
		return "replay it with: " + opts.command("relay drops replay", d.ID)
	}
}
