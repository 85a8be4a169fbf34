package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"slackrelay/pipeline"
	"slackrelay/server"
)

// statusOptions are the flags of relay status.
type statusOptions struct {
	opsOptions
	watch bool
	every time.Duration
	name  string
	state string
}

func newStatus() *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use: "status", Short: "Show the state of every channel, or of one with its categories", Args: noArgs,
		Long: "Show every channel: slots used, events received, sent, dropped and waiting, and whether it sends. With\n" +
			"--channel, show one of them with its categories. The counts are those of all replicas.",
		Example: "  relay status --watch",
		RunE:    func(cmd *cobra.Command, _ []string) error { return opts.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	cmd.Flag("channel").Usage = "one channel, with its categories (default: all)"
	cmd.Flags().BoolVarP(&opts.watch, "watch", "w", false, "repeat until Ctrl-C; with --json, print a line each time")
	cmd.Flags().StringVar(&opts.name, "name", "", "only channels whose name contains this text")
	cmd.Flags().StringVar(&opts.state, "state", "", "only channels in this state: broken, paused, fallback, dropping, full, sending or idle")
	completeWords(cmd, "state", "broken", "paused", "fallback", "dropping", "full", "sending", "idle")
	cmd.Flags().DurationVar(&opts.every, "every", time.Second, "how often --watch repeats")
	return cmd
}

func (o *statusOptions) run(ctx context.Context, out io.Writer) error {
	if o.every <= 0 {
		return usagef("--every is %s; it must be above 0, like 1s", o.every)
	}
	for {
		if err := o.showOnce(ctx, unfiltered(out)); err != nil || !o.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
		}
	}
}

// showOnce prints one screen, with colours: what others wrote is cleaned in it.
func (o *statusOptions) showOnce(ctx context.Context, out io.Writer) error {
	var screen bytes.Buffer
	err := o.show(ctx, &screen)
	if err != nil && screen.Len() > 0 && o.watch { // the relay answers, and may be able to read its channels soon
		if !o.json { // the lines are for programs, and say so themselves
			fmt.Fprintln(&screen, err)
		}
		err = nil
	}
	text := screen.String()
	if o.watch && !o.json && isTerminal(out) {
		text = "\x1b[H\x1b[2J" + fitted(text, sizeOf(out)) // the top of an empty screen
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return err
}

// relayStatus is what the command shows.
type relayStatus struct {
	Ready    readiness                `json:"ready"`
	Channels []pipeline.ChannelStatus `json:"channels"`
	Refused  refused                  `json:"refused"`
}

// refused is what the replica that answered has refused before decoding since it started.
type refused struct {
	Since  time.Time             `json:"since"`
	Total  int64                 `json:"total"`
	Counts []server.RefusalCount `json:"counts"`
}

type readiness struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons"`
}

func (o *statusOptions) show(ctx context.Context, out io.Writer) error {
	status, err := o.read(ctx)
	if err != nil && status.Ready.Status == "" {
		return err
	}
	switch {
	case o.json && o.watch:
		return errors.Join(err, printJSONLine(out, status))
	case o.json:
		return errors.Join(err, printJSON(out, status))
	}
	if err == nil { // else the channels are unknown; the readiness is not
		showChannels(out, status.Channels)
		if o.channel != "" {
			fmt.Fprintln(out)
			showLimits(out, status.Channels[0])
		}
		o.showRefused(out, status.Refused)
	}
	showReady(out, status.Ready)
	return err
}

// showChannels prints a line for each channel.
func showChannels(out io.Writer, channels []pipeline.ChannelStatus) {
	holds := slices.ContainsFunc(channels, func(ch pipeline.ChannelStatus) bool { return ch.Held > 0 })
	columns := []any{"CHANNEL", "USED", "RECEIVED", "SENT", "DROPPED", "WAITING", "DEAD", "STATE"}
	const beforeDead = 6
	if holds { // few relays hold events
		columns = slices.Insert(columns, beforeDead, any("HELD"))
	}
	table := newTable(out, columns...)
	defer table.flush()
	for _, ch := range channels {
		used := "-"
		if len(ch.Levels) > 0 {
			used = fmt.Sprintf("%d/%d", ch.Levels[0].Used, ch.Levels[0].Limit)
		}
		l := ch.Ledger
		row := []any{cleaned(ch.Channel), used, l.Received, l.Delivered, l.Dropped, l.Pending, l.Failed, stateOf(ch, l.Imbalance())}
		if holds {
			row = slices.Insert(row, beforeDead, any(ch.Held))
		}
		table.row(row...)
	}
}

// showReady prints whether the relay as a whole is ready, and why not, one reason a line.
func showReady(out io.Writer, ready readiness) {
	paint := map[string]*color.Color{"ok": color.New(color.FgGreen), "degraded": color.New(color.FgYellow)}[ready.Status]
	if paint == nil {
		paint = color.New(color.FgRed)
	}
	under := "\n" + strings.Repeat(" ", len(ready.Status)+2)
	reasons := make([]string, len(ready.Reasons))
	for i, reason := range ready.Reasons {
		reasons[i] = cleaned(reason)
	}
	fmt.Fprintln(out, strings.TrimSpace(paint.Sprint(ready.Status)+"  "+strings.Join(reasons, under)))
}

// showRefused prints how many requests the replica refused and why: no ledger counts them.
func (o *statusOptions) showRefused(out io.Writer, r refused) {
	const most = 5
	var kinds []string
	var shown int64
	for _, c := range r.Counts {
		if o.channel != "" && c.Channel != o.channel {
			continue
		}
		shown += c.Count
		switch {
		case len(kinds) == most:
			kinds = append(kinds, "...")
		case len(kinds) < most && c.Channel == "":
			kinds = append(kinds, fmt.Sprintf("%d %s", c.Count, c.Code))
		case len(kinds) < most:
			kinds = append(kinds, fmt.Sprintf("%d %s in %s", c.Count, c.Code, c.Channel))
		}
	}
	if shown > 0 {
		fmt.Fprintf(out, "\n%s by this replica since %s (not counted in the ledger): %s\n",
			color.YellowString("%s refused", requests(shown)), localTime(r.Since), cleaned(strings.Join(kinds, ", ")))
	}
}

func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// stateOf is whether a channel sends, in a few words. It is the last column, because colours disturb the alignment.
func stateOf(ch pipeline.ChannelStatus, imbalance int64) string {
	switch {
	case imbalance != 0:
		return color.RedString("the ledger is off by %d", imbalance)
	case ch.State.Fault != nil && ch.State.Fault.Token != "": // the readiness says it once, for all its channels
		return color.RedString("cannot post: token refused")
	case ch.State.Fault != nil:
		return color.RedString("cannot post: %s", cleaned(ch.State.Fault.Message))
	case ch.State.PausedUntil != nil:
		return color.RedString("paused for %s: %s", shortly(time.Until(*ch.State.PausedUntil).Round(time.Second)), cleaned(ch.State.Reason))
	case ch.State.Fallback != "":
		return color.YellowString("without Redis (%s)", ch.State.Fallback)
	default:
		return color.GreenString("sends")
	}
}
