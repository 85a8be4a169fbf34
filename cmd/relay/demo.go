package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"slackrelay/configs"
)

// The scenario: 20 categories send 10 events each, while the channel takes 100 in 30 minutes.
const (
	demoChannel    = "demo"
	demoCategories = 20
	demoEach       = 10
	demoSenders    = 4
	// demoSpeed is how much faster than the wall the demo's clock runs: at one message a second, 100
	// messages take 97 s; here about 5.
	demoSpeed   = 20
	demoTimeout = 60 * time.Second
)

func newDemo() *cobra.Command {
	var keep bool
	flags := configs.Flags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a storm of alerts through a whole relay in this process; needs nothing else",
		Long: "Play 200 events of 20 categories through a whole relay in this process, without Redis and without\n" +
			"Slack, on a clock that runs 20 times faster, and show what was sent and what was dropped.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, flags, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "stay up afterwards, to be posted to")
	cmd.Flags().StringVar(&flags.Listen, "listen", "", "where webhooks are taken (default a free port; with --keep 127.0.0.1:8080)")
	cmd.Flags().StringVar(&flags.OpsListen, "ops-listen", "", "health, metrics and API (default a free port; with --keep 127.0.0.1:9090)")
	return cmd
}

// demoConfig depends on no file and no variable: the demo must always be the same.
func demoConfig(flags configs.Flags, keep bool) configs.Config {
	cfg := configs.Default()
	cfg.Channels = []configs.Channel{configs.DefaultChannel(demoChannel)}
	cfg.Drain = 0
	if !keep {
		cfg.Listen, cfg.OpsListen = "127.0.0.1:0", "127.0.0.1:0"
	}
	cfg.Apply(flags)
	return cfg
}

func demo(cmd *cobra.Command, flags configs.Flags, keep bool) error {
	out, ctx := cmd.OutOrStdout(), cmd.Context()
	cfg := demoConfig(flags, keep)
	if faults := cfg.Validate(); len(faults) > 0 {
		return &configs.InvalidError{Faults: faults}
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	r, err := assemble(cfg, surroundings{log: log, speed: demoSpeed, fixed: true})
	if err != nil {
		return err
	}
	public, ops, err := r.listen(ctx)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	relayDone := newTask(running, func(context.Context) error { return r.serve(running, public, ops) })

	played := r.play(running, "http://"+public.Addr().String(), cmd.ErrOrStderr())
	if played == nil {
		played = r.explain(running, out)
	}
	if played == nil && keep {
		r.keepGoing(running, out, public, ops)
	}
	stop()
	return errors.Join(played, <-relayDone.done)
}

// play posts the events from several senders at once, event by event, and waits until all that were admitted
// have been sent.
func (r *relay) play(ctx context.Context, address string, progress io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	const total = demoCategories * demoEach
	bar := newBar(progress, total, "posting the events   ")
	senders, sending := errgroup.WithContext(ctx)
	for s := range demoSenders {
		senders.Go(func() error {
			for i := s; i < total; i += demoSenders {
				category := fmt.Sprintf("service-%02d", i%demoCategories+1)
				_, err := post(sending, sendOptions{address: address, channel: demoChannel, event: genericEvent{
					Category: category, Severity: []string{"critical", "error", "warning", "info"}[i%4],
					Title: fmt.Sprintf("%s is failing (%d)", category, i/demoCategories+1), Text: "Connection to the database refused.",
				}})
				if err != nil {
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
	fmt.Fprintln(progress)
	return r.watchDelivery(ctx, progress)
}

func newBar(progress io.Writer, total int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(plainly(progress)), progressbar.OptionSetWidth(40),
		progressbar.OptionSetDescription(what), progressbar.OptionThrottle(100*time.Millisecond))
}

// watchDelivery waits until nothing is pending.
func (r *relay) watchDelivery(ctx context.Context, progress io.Writer) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var bar *progressbar.ProgressBar
	for {
		status, err := r.status().Channel(ctx, demoChannel)
		if err != nil {
			return err
		}
		if bar == nil {
			bar = newBar(progress, status.Ledger.Admitted, "sending what passed  ")
		}
		bar.Set64(status.Ledger.Delivered) //nolint:errcheck // a bar that cannot be drawn stops nothing
		if status.Ledger.Pending == 0 {
			bar.Finish() //nolint:errcheck // as above
			fmt.Fprint(progress, "\n\n")
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d pending messages: %w", status.Ledger.Pending, ctx.Err())
		}
	}
}

// explain prints what became of the events, read from the ledger.
func (r *relay) explain(ctx context.Context, out io.Writer) error {
	status, err := r.status().Channel(ctx, demoChannel)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
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
	fmt.Fprintf(out, "\nAny %g minutes take %d events, %d of a category: the first %d were sent, in order.\n"+
		"The other %d were dropped and counted; that cost no slot. The ledger is off by %d.\n",
		status.Levels[0].Per/60, status.Levels[0].Limit, status.Categories[0].Limit, ledger.Delivered, ledger.Dropped, ledger.Imbalance())
	return nil
}

// keepGoing stays up until the process is told to stop.
func (r *relay) keepGoing(ctx context.Context, out io.Writer, public, ops net.Listener) {
	for _, preview := range r.previews {
		preview.PrintTo(out)
	}
	fmt.Fprintf(out, `
The relay stays up (Ctrl-C ends it); its clock runs %d times faster, so the window empties in %s. Post to it:
  curl -d '{"title":"Disk full","category":"disk"}' http://%s/hooks/%s
and see how it stands:
  http://%s
`, demoSpeed, (r.started.Channels[0].Window / demoSpeed).Round(time.Second), public.Addr(), demoChannel, ops.Addr())
	<-ctx.Done()
}
