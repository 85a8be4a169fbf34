package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
)

func newHeartbeats() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "heartbeats", Short: "List the heartbeats of senders: when each was last seen, and which are missing", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listHeartbeats(cmd.Context(), &opts, cmd.Flags().Changed("channel"), cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.Flag("channel").Usage = "only the heartbeats of this channel (default: all)"
	return cmd
}

func listHeartbeats(ctx context.Context, opts *opsOptions, oneChannel bool, out io.Writer) error {
	var reply struct {
		Heartbeats []pipeline.HeartbeatStatus `json:"heartbeats"`
	}
	if err := opts.api(ctx, call{path: "/heartbeats", reply: &reply}); err != nil {
		return err
	}
	if oneChannel {
		all := reply.Heartbeats
		reply.Heartbeats = []pipeline.HeartbeatStatus{}
		for _, h := range all {
			if h.Channel == opts.channel {
				reply.Heartbeats = append(reply.Heartbeats, h)
			}
		}
	}
	if opts.json {
		return printJSON(out, reply)
	}
	if len(reply.Heartbeats) == 0 {
		fmt.Fprintln(out, "there are no heartbeats; add them to heartbeats in the configuration")
		return nil
	}
	heartbeats := newTable(out, "NAME", "CHANNEL", "STATE", "EVERY", "LAST SEEN", "EXPECTED BY")
	defer heartbeats.flush()
	for _, h := range reply.Heartbeats {
		seen, expected := "never", ""
		if h.LastSeen != nil {
			seen = localTime(*h.LastSeen)
		}
		switch {
		case h.ExpectedBy != nil:
			expected = localTime(*h.ExpectedBy)
		case h.MissingSince != nil:
			expected = "missing for " + seconds(time.Since(*h.MissingSince).Seconds())
		}
		heartbeats.row(h.Name, h.Channel, h.State, seconds(h.Every), seen, expected)
	}
	return nil
}
