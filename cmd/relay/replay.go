package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

// replayOptions are the flags of the replay commands.
type replayOptions struct {
	opsOptions
	force bool
}

// errNothingSent ends the command with exit code 1.
var errNothingSent = errors.New("all events were dropped again; use --force to post them past the limits")

func newDropsReplay() *cobra.Command {
	return newReplay("/drops/", "Replay dropped events; they count as received and are subject to the limits",
		"  relay drops replay --channel alerts 1795212211240-0\n"+
			"  relay drops replay --channel alerts --force 1795212211240-0     # bypass the limits")
}

func newDeadReplay() *cobra.Command {
	return newReplay("/dead/", "Replay dead letters; they count as received and are subject to the limits",
		"  relay dead replay --channel alerts 1795212211240-0")
}

// newReplay makes a command that replays what the API keeps below a path.
func newReplay(below, short, example string) *cobra.Command {
	var opts replayOptions
	cmd := &cobra.Command{
		Use: "replay ID...", Short: short, Args: idArgs, Example: example,
		Long: short + ".\n\nThe command prints the outcome of each event, and exits with code 1 if all events were dropped again. If it was " +
			"replayed before, its events are duplicates.\n\nWith --force, events are admitted past the limits: they spend no slot, are also " +
			"counted as forced, and are written to the audit log.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.replay(cmd.Context(), below, args, cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.Flags().BoolVar(&opts.force, "force", false, "post the events past the limits")
	return cmd
}

// replay replays what was kept under each id, and prints the outcome of each event.
func (o *replayOptions) replay(ctx context.Context, below string, ids []string, out io.Writer) error {
	sent := false
	for _, id := range ids {
		var receipt pipeline.Receipt
		request := call{method: http.MethodPost, path: below + url.PathEscape(id) + "/replay", reply: &receipt}
		if o.force {
			request.body = map[string]bool{"force": true}
		}
		if err := o.onChannel(ctx, request); err != nil {
			return err
		}
		sent = sent || receipt.Dropped < receipt.Received
		if err := o.print(receipt, out); err != nil {
			return err
		}
	}
	if !sent {
		return errNothingSent
	}
	return nil
}

func (o *replayOptions) print(receipt pipeline.Receipt, out io.Writer) error {
	if o.json {
		return printJSON(out, receipt)
	}
	for _, e := range receipt.Events {
		line := outcomeLine(e)
		if e.Outcome == "admitted" && receipt.Forced > 0 {
			line += ": past the limits"
		}
		fmt.Fprintln(out, line)
	}
	return nil
}
