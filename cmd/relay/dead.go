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
	return newList("List the dead letters, newest first", listDead)
}

func listDead(ctx context.Context, opts listOptions, out io.Writer) error {
	var reply struct {
		Dead []pipeline.DeadLetter `json:"dead"`
	}
	if err := opts.onChannel(ctx, call{path: "/dead" + opts.query(), reply: &reply}); err != nil {
		return err
	}
	if opts.json {
		return printJSON(out, reply)
	}
	if len(reply.Dead) == 0 {
		fmt.Fprintf(out, "channel %s has no dead letters\n", opts.channel)
		return nil
	}
	letters := newTable(out, "ID", "WHEN", "REASON", "ATTEMPTS", "EVENT", "SLACK'S ANSWER")
	defer letters.flush()
	for _, d := range reply.Dead {
		event := "(" + d.Kind + ")"
		if len(d.Events) > 0 {
			event = brief(&d.Events[0])
		}
		if more := int64(len(d.Events)) - 1 + d.More; more > 0 {
			event += fmt.Sprintf(" and %d more", more)
		}
		letters.row(d.ID, localTime(d.At), d.Reason, d.Attempts, event, cleaned(d.Answer))
	}
	return nil
}

func newDeadDelete() *cobra.Command {
	var opts opsOptions
	return forEach(&opts, "delete ID...", "Delete dead letters; they stay counted as failed",
		func(ctx context.Context, id string, out io.Writer) error {
			var reply struct {
				Deleted int `json:"deleted"`
			}
			request := call{method: http.MethodDelete, path: "/dead/" + url.PathEscape(id), reply: &reply}
			if err := opts.onChannel(ctx, request); err != nil {
				return err
			}
			fmt.Fprintln(out, "deleted", id)
			return nil
		})
}
