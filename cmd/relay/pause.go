package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func newPause() *cobra.Command {
	var opts opsOptions
	var lasts, reason string
	cmd := &cobra.Command{
		Use: "pause", Short: "Stop a channel's sending for a while; what is admitted waits", Args: noArgs,
		Example: "  relay pause --channel alerts --for 30m --reason 'Slack is being moved'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var answer struct {
				PausedFor float64 `json:"paused_for"`
			}
			if err := opts.callWith(cmd.Context(), http.MethodPost, "/pause", map[string]string{"for": lasts, "reason": reason}, &answer); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "channel %s sends nothing for %s; let it go on with: relay resume --channel %s\n", opts.channel, seconds(answer.PausedFor), opts.channel)
			return err
		},
	}
	opts.add(cmd)
	cmd.Flags().StringVar(&lasts, "for", "", "how long, like 30m (default 1h)")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}

func newResume() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "resume", Short: "Let a channel go on, whatever it waits for", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var answer any
			if err := opts.callWith(cmd.Context(), http.MethodPost, "/resume", nil, &answer); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "channel %s goes on\n", opts.channel)
			return err
		},
	}
	opts.add(cmd)
	return cmd
}
