package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
	"slackrelay/simulation"
)

func newRecord() *cobra.Command {
	var opts opsOptions
	var back, live time.Duration
	cmd := &cobra.Command{
		Use: "record", Short: "Write what a channel received as a trace for relay simulate", Args: noArgs,
		Long: "Write what a channel received as a trace for relay simulate: one event per line.\n\n" +
			"With --live, it records from now on, each event with its severity, status, labels, and hashes of its id, its\n" +
			"fingerprint and its group, so that resolves, repeats, bundles and headroom can be simulated. It records no titles, texts and links,\n" +
			"and only what the replica at --ops-url receives: run it for each replica, and put the files together.\n\n" +
			"Without --live, it looks back, up to 24 hours: each event has its category only, and is spread over the minute in\n" +
			"which it was counted.",
		Example: "  relay record --channel alerts --live 24h > day.jsonl\n" +
			"  relay record --channel alerts --back 24h > day.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if live > 0 {
				return opts.recordLive(cmd.Context(), live, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return opts.record(cmd.Context(), back, cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.Flags().DurationVar(&back, "back", 24*time.Hour, "how far back, at most 24h")
	cmd.Flags().DurationVar(&live, "live", 0, "record from now on for this long, in detail, instead of looking back")
	return cmd
}

// reconnectAfter is how long a live recording waits before it connects again.
const reconnectAfter = time.Second

// recordLive prints what the channel receives from now on. When the stream ends, because the relay was reloaded or
// restarted for example, it connects again, and notes that: what arrives in between is missing.
func (o *opsOptions) recordLive(ctx context.Context, live time.Duration, out, notes io.Writer) error {
	// onChannel completes the options, and finds out whether the relay has the channel.
	if err := o.onChannel(ctx, call{reply: &struct{}{}}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, live)
	defer cancel()
	for {
		if refused, ok := errors.AsType[*refusal](o.copyEvents(ctx, out, notes)); ok {
			return refused
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectAfter):
		}
	}
}

// copyEvents prints the lines of one stream, until it ends.
func (o *opsOptions) copyEvents(ctx context.Context, out, notes io.Writer) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	c.timeout = 0
	response, err := c.send(ctx, call{path: "/api/v1/channels/" + url.PathEscape(o.channel) + "/events"})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body) // the status says enough
		return refusalOf(response, body)
	}
	fmt.Fprintf(notes, "recording channel %s since %s\n", o.channel, localTime(time.Now()))
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if len(lines.Bytes()) > 0 {
			fmt.Fprintln(out, lines.Text())
		}
	}
	return nil
}

// record prints the minutes of a channel as a trace.
func (o *opsOptions) record(ctx context.Context, back time.Duration, out io.Writer) error {
	var series pipeline.Series
	path := fmt.Sprintf("/series?back=%s&step=1m", back)
	if err := o.onChannel(ctx, call{path: path, reply: &series}); err != nil {
		return err
	}
	trace := traceOf(series)
	if len(trace) == 0 {
		return fmt.Errorf("channel %s received nothing in the last %s", o.channel, shortly(back))
	}
	return simulation.WriteTrace(out, trace)
}

// traceOf spreads the events of each minute over it.
func traceOf(series pipeline.Series) simulation.Trace {
	step := time.Duration(series.Step * float64(time.Second))
	var trace simulation.Trace
	for _, c := range series.Categories {
		for i, n := range c.Received {
			for k := range n {
				at := time.Duration(i)*step + time.Duration(k)*step/time.Duration(n)
				trace = append(trace, simulation.Event{At: at, Category: c.Category})
			}
		}
	}
	trace.Sort()
	trace.FromZero()
	return trace
}
