package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func newPause() *cobra.Command {
	var opts opsOptions
	var duration, reason string
	cmd := &cobra.Command{
		Use: "pause", Short: "Pause a channel: admitted messages wait until it resumes", Args: noArgs,
		Example: "  relay pause --channel alerts --for 30m --reason 'maintenance of Slack'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var reply struct {
				PausedFor float64 `json:"paused_for"`
			}
			body := map[string]string{"for": duration, "reason": reason}
			if err := opts.onChannel(cmd.Context(), call{method: http.MethodPost, path: "/pause", body: body, reply: &reply}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "channel %s is paused for %s; resume it with: %s\n",
				opts.channel, seconds(reply.PausedFor), opts.command("relay resume"))
			return nil
		},
	}
	opts.add(cmd)
	cmd.Flags().StringVar(&duration, "for", "", "how long, like 30m (default 1h)")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}

func newResume() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "resume", Short: "Resume a channel, whatever paused it", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var reply any
			if err := opts.onChannel(cmd.Context(), call{method: http.MethodPost, path: "/resume", reply: &reply}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "channel %s resumed\n", opts.channel)
			return nil
		},
	}
	opts.add(cmd)
	return cmd
}
