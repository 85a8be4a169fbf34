package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/pipeline"
	"slackrelay/simulation"
)

func newRecord() *cobra.Command {
	var opts opsOptions
	var back time.Duration
	cmd := &cobra.Command{
		Use: "record", Short: "Write what a channel received as a trace for relay simulate", Args: noArgs,
		Long: "Write what a channel received, up to 24 hours back, as a trace for relay simulate: one event per line, with\n" +
			"its category, spread over the minute in which it was counted.",
		Example: "  relay record --channel alerts --back 24h > day.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.record(cmd.Context(), back, cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.Flags().DurationVar(&back, "back", 24*time.Hour, "how far back, at most 24h")
	return cmd
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
