package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"slackrelay/configs"
	"slackrelay/simulation"
)

// simulateOptions are the flags of relay simulate.
type simulateOptions struct {
	generate, trace, config, against, channel, out string
	events                                         int
	seed                                           uint64
	tries                                          []string
	json, advise                                   bool
}

func newSimulate() *cobra.Command {
	var opts simulateOptions
	cmd := &cobra.Command{
		Use: "simulate", Short: "Play a trace of events against the settings of a channel, to see what Slack would show", Args: noArgs,
		Long: "Play a trace of events, recorded (relay record) or generated, against the settings of a channel, with the relay's own\n" +
			"code on a simulated clock. Compare several settings side by side: those of two configurations, and variations (--try).\n" +
			"Slack accepts every message at once, and Redis is always available. Rules and silences are not applied.\n\n" +
			"--try takes the settings of a channel that change what is posted: hold=2m, flapping.changes=6, first_notice.mode=auto,\n" +
			"reserves=[{category: disk, slots: 5}], and the lists inhibitions and heartbeats of the configuration: inhibitions=[].\n" +
			"strategy=gcra sets the strategy of the channel and category levels. engine=multi\n" +
			"plays the limiter without scripts of the Go package ratelimit/multi, with strategy=fixed-window or per-second.\n\n" +
			"--advise looks for limits and first notices that post less. It never advises a change that leaves a category unheard\n" +
			"that is heard now.",
		Example: "  relay simulate --generate day --advise --out report.html\n" +
			"  relay simulate --generate day --try hold=2m --try flapping.changes=6 --try hold=2m,flapping.changes=6\n" +
			"  relay simulate --trace day.jsonl --config new.yaml --against old.yaml\n" +
			"  relay simulate --generate many --try global_limit=200 --try category_limit=5,window=10m --try strategy=gcra",
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.generate, "generate", "", "a trace: "+strings.Join(simulation.Kinds(), ", ")+" (default storm, without --trace)")
	f.IntVar(&opts.events, "events", 10_000, "number of events to generate")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of the generated trace")
	f.StringVar(&opts.trace, "trace", "", "a file of events, one per line, as relay record prints it; - = standard input")
	f.StringVarP(&opts.config, "config", "c", "", "the configuration with the limits (default RELAY_CONFIG, else the defaults)")
	f.StringVar(&opts.against, "against", "", "another configuration to compare it with")
	f.StringVar(&opts.channel, "channel", "", onlyChannel)
	f.StringArrayVar(&opts.tries, "try", nil,
		"settings of the channel to compare, like global_limit=200,window=10m,strategy=gcra, or engine=multi; repeatable")
	f.StringVar(&opts.out, "out", "", "write a report with charts to this file, .html or .svg")
	f.BoolVar(&opts.advise, "advise", false, "look for limits and first notices that post less and leave no category unheard")
	f.BoolVar(&opts.json, "json", false, "print the counts as JSON")
	completeConfigured(cmd)
	completeWords(cmd, "generate", simulation.Kinds()...)
	return cmd
}

func (o *simulateOptions) run(cmd *cobra.Command) error {
	settings, err := o.settings()
	if err != nil {
		return err
	}
	if ext := filepath.Ext(o.out); o.out != "" && ext != ".html" && ext != ".svg" {
		return usagef("--out: %q has no known format; it must end in .html or .svg", o.out)
	}
	trace, title, err := o.load(cmd.InOrStdin())
	if err != nil {
		return err
	}
	runs, err := playAll(cmd.Context(), trace, settings, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report := simulation.Report{Title: title, Runs: runs}
	if o.advise {
		if report.Advice, err = o.adviseOn(cmd.Context(), trace, runs[0], cmd.ErrOrStderr()); err != nil {
			return err
		}
		if report.Advice.Found {
			report.Runs = append(report.Runs, report.Advice.Best())
		}
	}
	if o.out != "" {
		if err := o.report(report); err != nil {
			return err
		}
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), report)
	}
	printReport(cmd.OutOrStdout(), &report)
	if o.out != "" {
		fmt.Fprintln(cmd.OutOrStdout(), "the report is in", o.out)
	}
	return nil
}

// settings are the limits to compare.
func (o *simulateOptions) settings() ([]simulation.Setting, error) {
	base, cfg, err := o.channelOf(o.config)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(o.config, base.Name)
	settings := []simulation.Setting{settingOf(name, cfg, base)}
	if o.against != "" {
		other, otherCfg, err := o.channelOf(o.against)
		if err != nil {
			return nil, err
		}
		settings = append(settings, settingOf(o.against, otherCfg, other))
	}
	for _, try := range o.tries {
		setting, err := tried(try, cfg, base)
		if err != nil {
			return nil, usagef("--try: %s: %v", try, err)
		}
		settings = append(settings, setting)
	}
	lastAlike(settings)
	return settings, nil
}

// lastAlike counts the same problems in all runs: those that last longer than the longest hold.
func lastAlike(settings []simulation.Setting) {
	var hold time.Duration
	for i := range settings {
		hold = max(hold, settings[i].Channel.Hold)
	}
	for i := range settings {
		settings[i].Lasting = hold
	}
}

func (o *simulateOptions) channelOf(path string) (configs.Channel, configs.Config, error) {
	loaded, err := configs.Load(configs.Flags{File: path})
	if err != nil {
		return configs.Channel{}, configs.Config{}, err
	}
	channel, err := channelOf(&loaded.Config, o.channel)
	return channel, loaded.Config, err
}

func settingOf(name string, cfg configs.Config, ch configs.Channel) simulation.Setting {
	cfg.Channels = []configs.Channel{ch}
	return simulation.Setting{
		Name: name, Channel: cfg.PipelineChannels(nil)[0], Edits: ch.SlackWebhookURL == "",
		Inhibitions: cfg.CompiledInhibitions(), Heartbeats: cfg.SenderHeartbeats(),
	}
}

// maxGenerated bounds --events.
const maxGenerated = 50_000_000

// load generates or reads the trace.
func (o *simulateOptions) load(in io.Reader) (trace simulation.Trace, title string, err error) {
	switch {
	case o.trace != "" && o.generate != "":
		return nil, "", usagef("--trace and --generate are both given; keep one")
	case o.trace == "" && (o.events < 1 || o.events > maxGenerated):
		return nil, "", usagef("--events is %d; it must be between 1 and %d", o.events, maxGenerated)
	case o.trace == "":
		kind := cmp.Or(o.generate, "storm")
		if trace, err = simulation.Generate(kind, o.events, o.seed); err != nil {
			return nil, "", usagef("--generate: %v", err)
		}
		return trace, fmt.Sprintf("%s, %d events", kind, len(trace)), nil
	case o.trace != "-":
		file, err := os.Open(o.trace)
		if err != nil {
			return nil, "", usagef("--trace: %v; relay record writes a trace", err)
		}
		defer file.Close()
		in = file
	}
	if trace, err = simulation.ReadTrace(in); err != nil {
		return nil, "", fmt.Errorf("trace %s: %w", o.trace, err)
	}
	if len(trace) == 0 {
		return nil, "", fmt.Errorf("trace %s has no events", o.trace)
	}
	return trace, fmt.Sprintf("%s, %d events", o.trace, len(trace)), nil
}

// playAll plays the trace against all settings at once.
func playAll(ctx context.Context, trace simulation.Trace, settings []simulation.Setting, progress io.Writer) ([]simulation.Result, error) {
	bar := newBar(progress, int64(len(trace)*len(settings)), "playing")
	runs := make([]simulation.Result, len(settings))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0)) // each run keeps what its channel remembers
	for i, setting := range settings {
		before := 0
		group.Go(func() error {
			var err error
			runs[i], err = simulation.Play(ctx, trace, setting, func(n int) {
				bar.Add(n - before) //nolint:errcheck // a bar that cannot be drawn stops nothing
				before = n
			})
			return err
		})
	}
	err := group.Wait()
	bar.Finish() //nolint:errcheck // as above
	if isTerminal(unfiltered(progress)) {
		fmt.Fprintln(progress)
	}
	return runs, err
}

func (o *simulateOptions) report(report simulation.Report) error {
	file, err := os.Create(o.out)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	write := report.WriteHTML
	if filepath.Ext(o.out) == ".svg" {
		write = report.WriteSVG
	}
	return errors.Join(write(file), file.Close())
}
