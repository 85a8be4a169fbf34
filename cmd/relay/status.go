package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"slackrelay/pipeline"
	"slackrelay/server"
)

// statusOptions are the flags of relay status.
type statusOptions struct {
	opsOptions
	watch bool
	every time.Duration
}

func newStatus() *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use: "status", Short: "How every channel stands; with --channel one of them, with its categories", Args: noArgs,
		Long: "How every channel stands: slots used, events received, sent, dropped and waiting, and what it waits for. With\n" +
			"--channel one of them, with its categories. The counts are those of all replicas.",
		Example: "  relay status --watch",
		RunE:    func(cmd *cobra.Command, _ []string) error { return opts.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	cmd.Flag("channel").Usage = "one channel, with its categories (default: all)"
	cmd.Flags().BoolVarP(&opts.watch, "watch", "w", false, "show it again and again, until Ctrl-C")
	cmd.Flags().DurationVar(&opts.every, "every", time.Second, "how often, with --watch")
	return cmd
}

func (o *statusOptions) run(ctx context.Context, out io.Writer) error {
	if o.every <= 0 {
		return usagef("--every must be above 0, like 1s")
	}
	for {
		var screen bytes.Buffer
		err := o.show(ctx, &screen)
		if err != nil && screen.Len() > 0 && o.watch { // the relay answers, and may read its channels again soon
			fmt.Fprintln(&screen, err)
			err = nil
		}
		if o.watch && isTerminal(plainly(out)) {
			fmt.Fprint(plainly(out), "\x1b[H\x1b[2J") // the top of an empty screen
		}
		if _, err := plainly(out).Write(screen.Bytes()); err != nil { // with its colours; what others wrote is cleaned in it
			return fmt.Errorf("print: %w", err)
		}
		if err != nil || !o.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
		}
	}
}

// isTerminal tells whether a person looks at what is written.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// relayStatus is all that is shown.
type relayStatus struct {
	Ready    readiness                `json:"ready"`
	Channels []pipeline.ChannelStatus `json:"channels"`
	Refused  refused                  `json:"refused"`
}

// refused is what the replica that answered refused at its door since it started.
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
	if o.json {
		return errors.Join(err, printJSON(out, status))
	}
	if err != nil { // what can be said without the channels
		return errors.Join(err, showReady(out, status.Ready))
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "CHANNEL\tUSED\tRECEIVED\tSENT\tDROPPED\tWAITING\tDEAD\tSTATE")
	for _, ch := range status.Channels {
		used := "-"
		if len(ch.Levels) > 0 {
			used = fmt.Sprintf("%d/%d", ch.Levels[0].Used, ch.Levels[0].Limit)
		}
		l := ch.Ledger
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", cleaned(ch.Channel), used, l.Received, l.Delivered, l.Dropped, l.Pending, l.Failed, stateOf(ch, l.Imbalance()))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if o.channel != "" {
		fmt.Fprintln(out)
		if err := showLimits(out, status.Channels[0]); err != nil {
			return err
		}
	}
	o.showRefused(out, status.Refused)
	return showReady(out, status.Ready)
}

// showReady says how the relay stands as a whole, and why, a reason a line.
func showReady(out io.Writer, ready readiness) error {
	paint := map[string]*color.Color{"ok": color.New(color.FgGreen), "degraded": color.New(color.FgYellow)}[ready.Status]
	if paint == nil {
		paint = color.New(color.FgRed)
	}
	under, reasons := "\n"+strings.Repeat(" ", len(ready.Status)+2), make([]string, len(ready.Reasons))
	for i, reason := range ready.Reasons {
		reasons[i] = cleaned(reason)
	}
	if _, err := fmt.Fprintln(out, strings.TrimSpace(paint.Sprint(ready.Status)+"  "+strings.Join(reasons, under))); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// showRefused says what came and was not let in: no ledger counts it.
func (o *statusOptions) showRefused(out io.Writer, r refused) {
	const most = 5
	var kinds []string
	var shown int64
	for _, c := range r.Counts {
		if o.channel != "" && c.Channel != o.channel {
			continue
		}
		if shown += c.Count; len(kinds) < most {
			kinds = append(kinds, fmt.Sprintf("%d %s%s", c.Count, c.Code, map[bool]string{true: " in " + c.Channel}[c.Channel != ""]))
		} else if len(kinds) == most {
			kinds = append(kinds, "...")
		}
	}
	if shown > 0 {
		fmt.Fprintf(out, "\n%s by this replica since %s (not counted in the ledger): %s\n", color.YellowString("%s refused", requests(shown)), when(r.Since), cleaned(strings.Join(kinds, ", ")))
	}
}

func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// stateOf says in a word or two whether a channel sends. It stands last in its line, since colours take room.
func stateOf(ch pipeline.ChannelStatus, imbalance int64) string {
	switch {
	case imbalance != 0:
		return color.RedString("the ledger is off by %d", imbalance)
	case ch.State.PausedUntil != nil:
		return color.RedString("paused for %s: %s", shortly(time.Until(*ch.State.PausedUntil).Round(time.Second)), cleaned(ch.State.Reason))
	case ch.State.Fallback != "":
		return color.YellowString("without Redis (%s)", ch.State.Fallback)
	default:
		return color.GreenString("sends")
	}
}

// shortly writes a duration without its zero units.
func shortly(d time.Duration) string {
	return zeroUnits.ReplaceAllString(d.String(), "$1")
}

func (o *statusOptions) read(ctx context.Context) (relayStatus, error) {
	status := relayStatus{Channels: []pipeline.ChannelStatus{}}
	var failed error
	if o.channel != "" {
		var one pipeline.ChannelStatus
		failed = o.call(ctx, http.MethodGet, "", &one)
		status.Channels = []pipeline.ChannelStatus{one}
	} else {
		failed = o.ask(ctx, http.MethodGet, "/channels", nil, &status)
	}
	var refused *refusal
	if failed != nil && (!errors.As(failed, &refused) || refused.code != "unavailable") {
		return status, failed
	}
	if failed != nil {
		status.Channels = []pipeline.ChannelStatus{}
	}
	if err := o.ask(ctx, http.MethodGet, "/refusals", nil, &status.Refused); err != nil {
		return status, err
	}
	response, err := o.do(ctx, http.MethodGet, "/readyz", nil) // which says why also where it answers 503
	if err != nil {
		return status, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&status.Ready); err != nil {
		return status, fmt.Errorf("read the reply: %w", err)
	}
	status.Ready.Status = cmp.Or(status.Ready.Status, "unknown")
	return status, failed
}
