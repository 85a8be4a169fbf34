package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newDrops() *cobra.Command {
	return newGroup("drops", "List, explain or replay dropped events", newDropsList(), newDropsExplain(), newDropsReplay())
}

// listOptions are the flags of a list.
type listOptions struct {
	opsOptions
	limit  int
	before string
}

func (o *listOptions) add(cmd *cobra.Command) {
	o.opsOptions.add(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 50, "how many to list, at most 1000")
	cmd.Flags().StringVar(&o.before, "before", "", "list those older than this id: the next page")
}

func (o *listOptions) query() string {
	return "?" + url.Values{"limit": {strconv.Itoa(o.limit)}, "before": {o.before}}.Encode()
}

// newList makes a command that lists records of a channel.
func newList(short string, list func(ctx context.Context, opts listOptions, out io.Writer) error) *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use: "list", Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), opts, cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	return cmd
}

func newDropsList() *cobra.Command {
	return newList("List the dropped events, newest first", listDrops)
}

func listDrops(ctx context.Context, opts listOptions, out io.Writer) error {
	var reply struct {
		Drops []pipeline.DropRecord `json:"drops"`
	}
	if err := opts.onChannel(ctx, call{path: "/drops" + opts.query(), reply: &reply}); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, reply)
	}
	if len(reply.Drops) == 0 {
		fmt.Fprintf(out, "channel %s has no dropped events\n", opts.channel)
		return nil
	}
	drops := newTable(out, "ID", "WHEN", "CATEGORY", "REFUSED BY", "USED", "WOULD FIT AFTER", "EVENT")
	defer drops.flush()
	for _, d := range reply.Drops {
		used, fits := "", ""
		if d.Used >= 0 {
			used = fmt.Sprintf("%d/%d", d.Used, d.Limit)
		}
		if d.RetryAfter > 0 {
			fits = time.Duration(d.RetryAfter * float64(time.Second)).Round(time.Second).String()
		}
		drops.row(d.ID, localTime(d.At), d.Category, d.Level, used, fits, brief(d.Event))
	}
	return nil
}

func newDropsExplain() *cobra.Command {
	var opts opsOptions
	return forEach(&opts, "explain ID", "Explain why an event was dropped, by the id of the drop or of the event",
		func(ctx context.Context, id string, out io.Writer) error { return explainDrop(ctx, &opts, id, out) })
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
		brief(d.Event), shortened, opts.channel, d.Category, localTime(d.At), reply.Explanation, replayHint(opts.channel, d))
	return nil
}

// replayHint is the command that replays a dropped event, or why none can.
func replayHint(channel string, d pipeline.DropRecord) string {
	switch {
	case d.Event == nil:
		return "it cannot be replayed: the event was not kept"
	case d.Permanent:
		return fmt.Sprintf("a replay would be dropped again; post it past the limits with: relay drops replay --channel %s --force %s",
			channel, d.ID)
	default:
		return fmt.Sprintf("replay it with: relay drops replay --channel %s %s", channel, d.ID)
	}
}
