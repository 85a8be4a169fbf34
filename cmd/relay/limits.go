package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
)

func newLimits() *cobra.Command {
	return group("limits", "How full the limits of a channel are, and empty one", newLimitsShow(), newLimitsReset())
}

func newLimitsShow() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "show", Short: "Show each level of a channel: used, limit, when one more event fits", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var status pipeline.ChannelStatus
			if err := opts.call(cmd.Context(), http.MethodGet, "", &status); err != nil {
				return err
			}
			if opts.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"channel": status.Channel, "levels": status.Levels, "categories": status.Categories})
			}
			return showLimits(cmd.OutOrStdout(), status)
		},
	}
	opts.add(cmd)
	return cmd
}

func showLimits(out io.Writer, status pipeline.ChannelStatus) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "LEVEL\tUSED\tLIMIT\tWITHIN\tONE MORE FITS")
	for _, level := range status.Levels {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", level.Level, level.Used, level.Limit, seconds(level.Per), fits(level.RetryAfter))
	}
	for _, c := range status.Categories {
		fmt.Fprintf(table, "category %s\t%d\t%d\t%s\t%s\n", cleaned(c.Category), c.Used, c.Limit, seconds(c.Per), fits(c.RetryAfter))
	}
	return table.Flush()
}

func fits(wait float64) string {
	if wait == 0 {
		return "now"
	}
	if wait < 0 {
		return "never"
	}
	return "in " + seconds(wait)
}

// seconds writes a time as people read it.
func seconds(s float64) string {
	return shortly(time.Duration(math.Round(s)) * time.Second)
}

func newLimitsReset() *cobra.Command {
	var opts opsOptions
	var level, value string
	cmd := &cobra.Command{
		Use: "reset [--level LEVEL --value VALUE]", Short: "Empty a level: nothing that was admitted counts any more", Args: noArgs,
		Example: "  relay limits reset --channel alerts                                  # the channel's own level\n" +
			"  relay limits reset --channel alerts --level category --value disk",
		RunE: func(cmd *cobra.Command, _ []string) error {
			level = cmp.Or(level, ratelimit.LevelChannel)
			var answer any
			if err := opts.callWith(cmd.Context(), http.MethodPost, "/limits/reset", map[string]string{"level": level, "value": value}, &answer); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "level %s of channel %s is empty\n", named(level, value), opts.channel)
			return err
		},
	}
	opts.add(cmd)
	cmd.Flags().StringVar(&level, "level", "", "channel, category, sender, or a label's (default channel)")
	cmd.Flags().StringVar(&value, "value", "", "the category, sender or value; none for the channel")
	return cmd
}

func named(level, value string) string {
	if value == "" {
		return level
	}
	return level + " " + value
}
