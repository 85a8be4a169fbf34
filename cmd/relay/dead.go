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
	return newList("List the dead letters, newest first", records[pipeline.DeadLetter]{
		name: "dead", verb: "has", noun: "dead letters",
		columns: []any{"ID", "WHEN", "REASON", "ATTEMPTS", "EVENT", "SLACK'S ANSWER"}, row: deadRow,
	})
}

func deadRow(d pipeline.DeadLetter) []any {
	event := "(" + d.Kind + ")"
	if len(d.Events) > 0 {
		event = brief(&d.Events[0])
	}
	if more := int64(len(d.Events)) - 1 + d.More; more > 0 {
		event += fmt.Sprintf(" and %d more", more)
	}
	return []any{d.ID, localTime(d.At), d.Reason, d.Attempts, event, cleaned(d.Answer)}
}

func newDeadDelete() *cobra.Command {
	var opts opsOptions
	cmd := forEach(&opts, "delete ID...", "Delete dead letters; they stay counted as failed",
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
	cmd.ValidArgsFunction = opts.asked(opts.deadLetters)
	return cmd
}
