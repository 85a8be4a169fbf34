package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
			if err := opts.order(cmd.Context(), "/pause", map[string]string{"for": lasts, "reason": reason}, &answer); err != nil {
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
			if err := opts.order(cmd.Context(), "/resume", nil, &answer); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "channel %s goes on\n", opts.channel)
			return err
		},
	}
	opts.add(cmd)
	return cmd
}

// order asks for a change of the channel.
func (o *opsOptions) order(ctx context.Context, path string, wanted map[string]string, answer any) error {
	var body io.Reader
	if wanted != nil {
		encoded, err := json.Marshal(wanted)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	return o.callWith(ctx, http.MethodPost, path, body, answer)
}
