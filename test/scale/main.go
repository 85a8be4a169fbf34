// Command scale measures a relay from outside: what it costs by the number of channels and replicas, and how fast it is. It
// builds and starts the real program, with a real redis-server and a fake Slack, all on this machine.
//
//	go run ./test/scale                                     10 to 10,000 channels with 1 and 3 replicas: about 20 minutes
//	go run ./test/scale -channels "10 100" -replicas 1      only these sizes
//	go run ./test/scale -channels "" -load 10s              only the load on one relay
//	go run ./test/scale -cluster                            with a Redis Cluster of three nodes
//	go run ./test/scale -measure memory -channels 1000      what Redis stores for channels, events, replicas and viewers
//	go run ./test/scale -record v1.4.0                      appends the figures to the history
//
// It reports progress on standard error and a table on standard output. docs/benchmarks.md describes the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		serveBare(os.Args[2:])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scale:", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	channels, replicas []int
	idle, load, lease  time.Duration
	relay              string // path of the program; "" = it is built
	record, history    string
	cluster            bool   // Redis is a Cluster
	measure            string // what is measured: time or memory
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.SetOutput(stderr)
	channels := f.String("channels", "10 100 1000 10000", "numbers of channels, with spaces; empty: none")
	replicas := f.String("replicas", "1 3", "numbers of replicas, with spaces")
	f.DurationVar(&o.idle, "idle", 10*time.Second, "how long the cost of idle channels is measured")
	f.DurationVar(&o.load, "load", 10*time.Second, "how long webhooks are posted with open limits; 0s: no load is measured")
	f.DurationVar(&o.lease, "lease", 10*time.Second, "the lease and slack_lookup_delay of the relays; slack_timeout is half of it")
	f.StringVar(&o.relay, "relay", "", "the relay to measure (default: it is built from ./cmd/relay)")
	f.StringVar(&o.measure, "measure", "time", "time: how fast relays are, and what idle channels cost; memory: what Redis stores")
	f.BoolVar(&o.cluster, "cluster", false, "start a Redis Cluster of three nodes instead of one server")
	f.StringVar(&o.record, "record", "", "append the figures to the history, as those of this version")
	f.StringVar(&o.history, "history", "docs/benchmarks/scale.csv", "the history")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.measure != "time" && o.measure != "memory" {
		return o, fmt.Errorf("-measure: %q is not time or memory", o.measure)
	}
	var err error
	if o.channels, err = numbers(*channels); err != nil {
		return o, fmt.Errorf("-channels: %w", err)
	}
	if o.replicas, err = numbers(*replicas); err != nil {
		return o, fmt.Errorf("-replicas: %w", err)
	}
	return o, nil
}

func numbers(text string) ([]int, error) {
	var all []int
	for word := range strings.FieldsSeq(text) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number of 1 or more; list numbers with spaces, for example \"10 100\"", word)
		}
		all = append(all, n)
	}
	return all, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "scale")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, dir: dir, progress: stderr}
	if err := b.build(ctx); err != nil {
		return err
	}
	figures, err := b.run(ctx)
	printTable(stdout, figures) // also what was measured before an error
	if err != nil || o.record == "" {
		return err
	}
	return appendHistory(o.history, o.record, time.Now(), figures)
}

// bench measures one relay.
type bench struct {
	options
	dir      string
	progress io.Writer
}

func (b *bench) build(ctx context.Context) error {
	if b.relay != "" {
		return nil
	}
	b.relay = filepath.Join(b.dir, "relay")
	build := exec.CommandContext(ctx, "go", "build", "-o", b.relay, "./cmd/relay") //nolint:gosec // its own directory
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the relay: %w\n%s", err, out)
	}
	return nil
}

// run returns the figures of all sizes, and of the load.
func (b *bench) run(ctx context.Context) ([]figure, error) {
	var all []figure
	if b.measure == "memory" {
		for _, channels := range b.channels {
			figures, err := b.measureMemory(ctx, size{channels, 1})
			all = append(all, figures...)
			if err != nil {
				return all, fmt.Errorf("memory of %d channels: %w", channels, err)
			}
		}
		return all, nil
	}
	for _, channels := range b.channels {
		for _, replicas := range b.replicas {
			figures, err := b.measureSize(ctx, size{channels, replicas})
			all = append(all, figures...)
			if err != nil {
				return all, fmt.Errorf("%d channels, %d replicas: %w", channels, replicas, err)
			}
		}
	}
	if b.load > 0 {
		figures, err := b.measureLoad(ctx)
		all = append(all, figures...)
		if err != nil {
			return all, fmt.Errorf("load: %w", err)
		}
	}
	return all, nil
}
