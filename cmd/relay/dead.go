package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newDead() *cobra.Command {
	return group("dead", "What Slack refused for good: list it, send it again, delete it", newDeadList(), newDeadReplay(), newDeadDelete())
}

func newDeadList() *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use: "list", Short: "List the dead letters, newest first", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listDead(cmd.Context(), opts, cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	return cmd
}

func listDead(ctx context.Context, opts listOptions, out io.Writer) error {
	var answer struct {
		Dead []pipeline.DeadLetter `json:"dead"`
	}
	if err := opts.call(ctx, http.MethodGet, "/dead"+opts.query(), &answer); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, answer)
	}
	if len(answer.Dead) == 0 {
		_, err := fmt.Fprintf(out, "channel %s has no dead letters\n", opts.channel)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tWHEN\tREASON\tATTEMPTS\tEVENT\tSLACK SAID")
	for _, d := range answer.Dead {
		said := "(" + d.Kind + ")"
		if len(d.Events) > 0 {
			said = brief(&d.Events[0])
		}
		if more := int64(len(d.Events)) - 1 + d.More; more > 0 {
			said += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", d.ID, when(d.At), d.Reason, d.Attempts, said, cleaned(d.Answer))
	}
	return table.Flush()
}

func newDeadDelete() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "delete ID...", Short: "Delete dead letters; they stay counted as failed", Args: ids,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				var answer struct {
					Deleted int `json:"deleted"`
				}
				if err := opts.call(cmd.Context(), http.MethodDelete, "/dead/"+url.PathEscape(id), &answer); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), "deleted", id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	opts.add(cmd)
	return cmd
}
