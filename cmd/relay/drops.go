package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/events"
	"slackrelay/pipeline"
)

func newDrops() *cobra.Command {
	return group("drops", "What was dropped: list it, explain it, send it again", newDropsList(), newDropsExplain(), newDropsReplay())
}

// listOptions are the flags of a list.
type listOptions struct {
	opsOptions
	limit  int
	before string
}

func (o *listOptions) add(cmd *cobra.Command) {
	o.opsOptions.add(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 50, "how many at most, up to 1000")
	cmd.Flags().StringVar(&o.before, "before", "", "only those older than this id, for the next page")
}

func (o *listOptions) query() string {
	return "?" + url.Values{"limit": {strconv.Itoa(o.limit)}, "before": {o.before}}.Encode()
}

func newDropsList() *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use: "list", Short: "List what was dropped, newest first", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listDrops(cmd.Context(), opts, cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	return cmd
}

func listDrops(ctx context.Context, opts listOptions, out io.Writer) error {
	var answer struct {
		Drops []pipeline.DropRecord `json:"drops"`
	}
	if err := opts.call(ctx, http.MethodGet, "/drops"+opts.query(), &answer); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, answer)
	}
	if len(answer.Drops) == 0 {
		_, err := fmt.Fprintf(out, "nothing was dropped in channel %s\n", opts.channel)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tWHEN\tCATEGORY\tREFUSED BY\tUSED\tWOULD FIT AFTER\tEVENT")
	for _, d := range answer.Drops {
		used, fits := "", ""
		if d.Used >= 0 {
			used = fmt.Sprintf("%d/%d", d.Used, d.Limit)
		}
		if d.RetryAfter > 0 {
			fits = time.Duration(d.RetryAfter * float64(time.Second)).Round(time.Second).String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, when(d.At), d.Category, d.Level, used, fits, brief(d.Event))
	}
	return table.Flush()
}

// when is a time in a list.
func when(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05") }

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

func newDropsExplain() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "explain ID", Short: "Say why an event was dropped, by the drop's id or the event's", Args: ids,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := explainDrop(cmd.Context(), opts, id, cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	opts.add(cmd)
	return cmd
}

func explainDrop(ctx context.Context, opts opsOptions, id string, out io.Writer) error {
	var answer struct {
		Drop        pipeline.DropRecord `json:"drop"`
		Explanation string              `json:"explanation"`
	}
	if err := opts.call(ctx, http.MethodGet, "/drops/"+url.PathEscape(id), &answer); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, answer)
	}
	d, shortened := answer.Drop, ""
	if d.Event != nil && d.Event.Shortened > 0 {
		shortened = fmt.Sprintf(", shortened from %d bytes", d.Event.Shortened)
	}
	_, err := fmt.Fprintf(out, "%s%s\nchannel %s, category %s, dropped at %s\n%s\n%s\n",
		brief(d.Event), shortened, opts.channel, d.Category, when(d.At), answer.Explanation, againHint(opts.channel, d))
	return err
}

// againHint is the command that sends a dropped event again, where it can be.
func againHint(channel string, d pipeline.DropRecord) string {
	switch {
	case d.Event == nil:
		return "it cannot be sent again: the event was not recorded"
	case d.Level == "suppressed" || d.Level == "never":
		return fmt.Sprintf("a replay would be dropped again; post it past the limits with: relay drops replay --channel %s --force %s", channel, d.ID)
	default:
		return fmt.Sprintf("send it again with: relay drops replay --channel %s %s", channel, d.ID)
	}
}
