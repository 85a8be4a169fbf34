package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

// replayOptions are the flags of the replay commands.
type replayOptions struct {
	opsOptions
	force bool
}

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
	ids := opts.drops
	if below == "/dead/" {
		ids = opts.deadLetters
	}
	cmd := &cobra.Command{
		Use: "replay ID...", Short: short, Args: idArgs, Example: example,
		Long: short + ".\n\nThe command prints the outcome of each event, and exits with code 1 if one was dropped again. If it was " +
			"replayed before, its events are duplicates.\n\nWith --force, events are admitted past the limits: they spend no slot, are also " +
			"counted as forced, and are written to the audit log.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.replay(cmd.Context(), below, args, cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.ValidArgsFunction = opts.asked(ids)
	cmd.Flags().BoolVar(&opts.force, "force", false, "post the events past the limits")
	return cmd
}

// replay replays what was kept under each id, and prints the outcome of each event. It fails if an event was dropped again.
func (o *replayOptions) replay(ctx context.Context, below string, ids []string, out io.Writer) error {
	received, dropped := 0, 0
	var again []string // the ids whose events were dropped
	for _, id := range ids {
		var receipt pipeline.Receipt
		request := call{method: http.MethodPost, path: below + url.PathEscape(id) + "/replay", reply: &receipt}
		if o.force {
			request.body = map[string]bool{"force": true}
		}
		if err := o.onChannel(ctx, request); err != nil {
			return err
		}
		received, dropped = received+receipt.Received, dropped+receipt.Dropped
		if receipt.Dropped > 0 {
			again = append(again, id)
		}
		if err := o.print(receipt, out); err != nil {
			return err
		}
	}
	if dropped == 0 {
		return nil
	}
	hint := o.command("relay "+strings.Trim(below, "/")+" replay", append([]string{"--force"}, again...)...)
	return fmt.Errorf("%d of %d events were dropped again; post them past the limits with: %s", dropped, received, hint)
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
