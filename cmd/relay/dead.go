package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newDead() *cobra.Command {
	return newGroup("dead", "List, replay or delete dead letters, the messages that Slack refused for good",
		newDeadList(), newDeadReplay(), newDeadDelete())
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
	var reply struct {
		Dead []pipeline.DeadLetter `json:"dead"`
	}
	if err := opts.onChannel(ctx, call{method: http.MethodGet, path: "/dead" + opts.query(), reply: &reply}); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, reply)
	}
	if len(reply.Dead) == 0 {
		_, err := fmt.Fprintf(out, "channel %s has no dead letters\n", opts.channel)
		return err
	}
	table := newTable(out)
	fmt.Fprintln(table, "ID\tWHEN\tREASON\tATTEMPTS\tEVENT\tSLACK'S ANSWER")
	for _, d := range reply.Dead {
		event := "(" + d.Kind + ")"
		if len(d.Events) > 0 {
			event = brief(&d.Events[0])
		}
		if more := int64(len(d.Events)) - 1 + d.More; more > 0 {
			event += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", d.ID, localTime(d.At), d.Reason, d.Attempts, event, cleaned(d.Answer))
	}
	return table.Flush()
}

func newDeadDelete() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "delete ID...", Short: "Delete dead letters; they stay counted as failed", Args: idArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				var reply struct {
					Deleted int `json:"deleted"`
				}
				request := call{method: http.MethodDelete, path: "/dead/" + url.PathEscape(id), reply: &reply}
				if err := opts.onChannel(cmd.Context(), request); err != nil {
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
