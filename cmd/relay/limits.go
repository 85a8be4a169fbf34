package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
)

func newLimits() *cobra.Command {
	return newGroup("limits", "Show how full limits are, or reset one", newLimitsShow(), newLimitsReset())
}

func newLimitsShow() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "show", Short: "Show each level of every channel, or of one with its categories: used, limit, when one more event fits",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			several, err := opts.several(cmd.Context())
			if err != nil {
				return err
			}
			if several {
				return opts.showAllLimits(cmd.Context(), cmd.OutOrStdout())
			}
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
	cmd.Flag("channel").Usage = "one channel, with its categories (default: all)"
	return cmd
}

// several reports whether no channel is given and the relay has more than one.
func (o *opsOptions) several(ctx context.Context) (bool, error) {
	if o.channel != "" {
		return false, nil
	}
	names, err := o.channelNames(ctx, enoughForSeveral)
	return len(names) > 1, err
}

// enoughForSeveral is how many channels must be read to know that there are several.
const enoughForSeveral = 2

// channelLimits are the levels of a channel.
type channelLimits struct {
	Channel string                 `json:"channel"`
	Levels  []pipeline.LevelStatus `json:"levels"`
}

// showAllLimits prints the levels of all channels. The relay lists no categories with them.
func (o *opsOptions) showAllLimits(ctx context.Context, out io.Writer) error {
	var status relayStatus
	if err := (&statusOptions{opsOptions: *o}).readPages(ctx, &status); err != nil {
		return err
	}
	all := make([]channelLimits, 0, len(status.Channels))
	for _, ch := range status.Channels {
		if !isOwn(ch.Channel) {
			all = append(all, channelLimits{ch.Channel, ch.Levels})
		}
	}
	if o.json {
		return printJSON(out, map[string]any{"channels": all})
	}
	levels := newTable(out, "CHANNEL", "LEVEL", "USED", "LIMIT", "WITHIN", "ONE MORE FITS")
	defer levels.flush()
	for _, ch := range all {
		for _, level := range ch.Levels {
			levels.row(ch.Channel, level.Level, level.Used, level.Limit, seconds(level.Per), fits(level.RetryAfter))
		}
	}
	return nil
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
	completeFlag(cmd, "level", opts.asked(opts.levels))
	completeFlag(cmd, "value", opts.asked(opts.categories))
	return cmd
}

func levelName(level, value string) string {
	if value == "" {
		return level
	}
	return level + " " + value
}
