package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"slackrelay/app"
	"slackrelay/configs"
)

// The scenario: 20 categories send 10 events each, while the channel admits 100 in 30 minutes.
const (
	demoChannel    = "demo"
	demoCategories = 20
	demoEach       = 10
	demoSenders    = 4
	// demoSpeed is how many times faster than the wall clock the relay counts time: 100 messages, one a second, take about 5 s
	// instead of 97 s.
	demoSpeed   = 20
	demoTimeout = 60 * time.Second
)

func newDemo() *cobra.Command {
	var keep bool
	flags := configs.Flags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a storm of alerts through a relay in this process; needs nothing else",
		Long: "Play 200 events of 20 categories through a whole relay in this process, without Redis and Slack, on a\n" +
			"clock that runs 20 times faster, and show which were sent and which were dropped.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, flags, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the relay running afterwards")
	cmd.Flags().StringVar(&flags.Listen, "listen", "", "where webhooks are accepted (default a free port; with --keep 127.0.0.1:8080)")
	cmd.Flags().StringVar(&flags.OpsListen, "ops-listen", "", "health, metrics and API (default a free port; with --keep 127.0.0.1:9090)")
	return cmd
}

// demoConfig depends on no file and no variable: the demo must always be the same.
func demoConfig(flags configs.Flags, keep bool) configs.Config {
	cfg := configs.Default()
	cfg.Channels = []configs.Channel{configs.DefaultChannel(demoChannel)}
	cfg.Drain = 0
	if !keep {
		cfg.Listen = "127.0.0.1:0"
		cfg.OpsListen = "127.0.0.1:0"
	}
	cfg.Apply(flags)
	return cfg
}

func demo(cmd *cobra.Command, flags configs.Flags, keep bool) error {
	cfg := demoConfig(flags, keep)
	if faults := cfg.Validate(); len(faults) > 0 {
		return &configs.InvalidError{Faults: faults}
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	relay, err := app.New(cmd.Context(), app.Options{Config: &cfg, Version: versionText(), Logger: log, Speed: demoSpeed})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- relay.Run(ctx) }()

	d := demonstration{relay: relay, out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr()}
	played := d.play(ctx)
	if played == nil && keep {
		d.keepRunning(ctx, cfg.Channels[0].Window)
	}
	stop()
	return errors.Join(played, <-stopped)
}

// demonstration plays the scenario on a running relay.
type demonstration struct {
	relay    *app.Relay
	out      io.Writer
	progress io.Writer
}

func (d demonstration) play(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	if err := d.post(bounded); err != nil {
		return err
	}
	if err := d.watchDelivery(bounded); err != nil {
		return err
	}
	return d.printLedger(ctx)
}

// post posts the events one by one, from several senders at the same time.
func (d demonstration) post(ctx context.Context) error {
	const total = demoCategories * demoEach
	bar := newBar(d.progress, total, "posting the events   ")
	senders, ctx := errgroup.WithContext(ctx)
	for s := range demoSenders {
		senders.Go(func() error {
			for i := s; i < total; i += demoSenders {
				opts := sendOptions{address: "http://" + d.relay.PublicAddr().String(), channel: demoChannel, event: demoEvent(i)}
				if _, err := opts.post(ctx); err != nil {
					return err
				}
				bar.Add(1) //nolint:errcheck // a bar that cannot be drawn stops nothing
			}
			return nil
		})
	}
	if err := senders.Wait(); err != nil {
		return err
	}
	bar.Finish() //nolint:errcheck // as above
	fmt.Fprintln(d.progress)
	return nil
}

// demoEvent is event i of the scenario.
func demoEvent(i int) genericEvent {
	category := fmt.Sprintf("service-%02d", i%demoCategories+1)
	return genericEvent{
		Category: category, Severity: []string{"critical", "error", "warning", "info"}[i%4],
		Title: fmt.Sprintf("%s is failing (%d)", category, i/demoCategories+1), Text: "Connection to the database refused.",
	}
}

// newBar returns a progress bar, which shows on a terminal only.
func newBar(progress io.Writer, total int64, description string) *progressbar.ProgressBar {
	if !isTerminal(unfiltered(progress)) {
		progress = io.Discard
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(unfiltered(progress)), progressbar.OptionSetWidth(40),
		progressbar.OptionSetDescription(description), progressbar.OptionThrottle(100*time.Millisecond))
}

// watchDelivery waits until nothing is pending.
func (d demonstration) watchDelivery(ctx context.Context) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var bar *progressbar.ProgressBar
	for {
		status, err := d.relay.Status().Channel(ctx, demoChannel)
		if err != nil {
			return err
		}
		if bar == nil {
			bar = newBar(d.progress, status.Ledger.Admitted, "sending what passed  ")
		}
		bar.Set64(status.Ledger.Delivered) //nolint:errcheck // a bar that cannot be drawn stops nothing
		if status.Ledger.Pending == 0 {
			bar.Finish() //nolint:errcheck // as above
			fmt.Fprint(d.progress, "\n\n")
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d pending messages: %w", status.Ledger.Pending, ctx.Err())
		}
	}
}

// printLedger prints the outcomes of all events as the ledger has them.
func (d demonstration) printLedger(ctx context.Context) error {
	status, err := d.relay.Status().Channel(ctx, demoChannel)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(d.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(name string, received, sent, dropped any) {
		fmt.Fprintf(table, "%s\t%v\t%v\t%v\t\n", name, received, sent, dropped)
	}
	row("category", "received", "sent", "dropped")
	for _, c := range status.Categories {
		row(c.Category, c.Admitted+c.Dropped, c.Admitted, c.Dropped)
	}
	ledger := status.Ledger
	row("total", ledger.Received, ledger.Delivered, ledger.Dropped)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintf(d.out, "\nThe channel admits %d events in any %g minutes, %d of a category: the first %d were sent, in order.\n"+
		"The other %d were dropped and counted; that cost no slot. The ledger is off by %d.\n",
		status.Levels[0].Limit, status.Levels[0].Per/60, status.Categories[0].Limit, ledger.Delivered, ledger.Dropped, ledger.Imbalance())
	return nil
}

// keepRunning keeps the relay running until the process is stopped.
func (d demonstration) keepRunning(ctx context.Context, window time.Duration) {
	d.relay.ShowMessages(d.out)
	fmt.Fprintf(d.out, `
The relay keeps running until Ctrl-C. Its clock runs %d times faster, so that the window is empty after %s. Post an event:
  curl -d '{"title":"Disk full","category":"disk"}' http://%s/hooks/%s
and see the dashboard:
  http://%s
`, demoSpeed, (window / demoSpeed).Round(time.Second), d.relay.PublicAddr(), demoChannel, d.relay.OpsAddr())
	<-ctx.Done()
}
