package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
)

func newLimits() *cobra.Command {
	return newGroup("limits", "Show how full the limits of a channel are, or reset one", newLimitsShow(), newLimitsReset())
}

func newLimitsShow() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "show", Short: "Show each level of a channel: used, limit, when one more event fits", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var status pipeline.ChannelStatus
			if err := opts.onChannel(cmd.Context(), call{reply: &status}); err != nil {
				return err
			}
			if opts.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"channel": status.Channel, "levels": status.Levels, "categories": status.Categories})
			}
			showLimits(cmd.OutOrStdout(), status)
			return nil
		},
	}
	opts.add(cmd)
	return cmd
}

func showLimits(out io.Writer, status pipeline.ChannelStatus) {
	levels := newTable(out, "LEVEL", "USED", "LIMIT", "WITHIN", "ONE MORE FITS")
	defer levels.flush()
	for _, level := range status.Levels {
		levels.row(level.Level, level.Used, level.Limit, seconds(level.Per), fits(level.RetryAfter))
	}
	for _, c := range status.Categories {
		levels.row("category "+cleaned(c.Category), c.Used, c.Limit, seconds(c.Per), fits(c.RetryAfter))
	}
}

// fits prints when one more event fits; a negative wait means never.
func fits(wait float64) string {
	if wait == 0 {
		return "now"
	}
	if wait < 0 {
		return "never"
	}
	return "in " + seconds(wait)
}

func newLimitsReset() *cobra.Command {
	var opts opsOptions
	var level, value string
	cmd := &cobra.Command{
		Use: "reset [--level LEVEL --value VALUE]", Short: "Empty a level: what it admitted so far no longer counts", Args: noArgs,
		Example: "  relay limits reset --channel alerts                                  # the channel's own level\n" +
			"  relay limits reset --channel alerts --level category --value disk",
		RunE: func(cmd *cobra.Command, _ []string) error {
			level = cmp.Or(level, ratelimit.LevelChannel)
			var reply any
			body := map[string]string{"level": level, "value": value}
			if err := opts.onChannel(cmd.Context(), call{method: http.MethodPost, path: "/limits/reset", body: body, reply: &reply}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "level %s of channel %s is empty\n", levelName(level, value), opts.channel)
			return nil
		},
	}
	opts.add(cmd)
	cmd.Flags().StringVar(&level, "level", "", "channel, category, sender, or the name of a label's level (default channel)")
	cmd.Flags().StringVar(&value, "value", "", "the category, sender or label value; empty for the channel level")
	return cmd
}

func levelName(level, value string) string {
	if value == "" {
		return level
	}
	return level + " " + value
}
