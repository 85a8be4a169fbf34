package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/configs"
	"slackrelay/pipeline"
)

// sendOptions are the flags of relay send.
type sendOptions struct {
	flags   configs.Flags
	address string
	channel string
	token   string
	test    bool
	event   genericEvent

	ops     opsOptions // where to ask what became of the event
	wait    bool
	waitFor time.Duration
	asked   bool // --wait was given
	json    bool
}

// genericEvent is the body of the relay's own format.
type genericEvent struct {
	ID          string            `json:"id,omitempty"`
	Category    string            `json:"category,omitempty"`
	Title       string            `json:"title,omitempty"`
	Text        string            `json:"text,omitempty"`
	Severity    string            `json:"severity,omitempty"`
	Status      string            `json:"status,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Link        string            `json:"link,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

func newSend() *cobra.Command {
	var opts sendOptions
	cmd := &cobra.Command{
		Use:   "send --title TITLE",
		Short: "Post one event to a running relay and print its outcome",
		Long: "Post one event to a running relay and print its outcome.\n\n" +
			"With --wait, which is the default of --test, also print Slack's answer: where the message is, what it waits for, or why\n" +
			"Slack refused it and what to do. The exit code is then 0 if it was posted, 3 if the event was dropped or muted, 4 if\n" +
			"Slack refused it, 5 if it still waits, and 1 if the relay cannot be asked.",
		Example: "  relay send --title 'Disk full on db-1' --category disk --severity critical --label host=db-1\n" +
			"  relay send --test --title 'Hello from the relay'",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.asked = cmd.Flags().Changed("wait")
			opts.wait = opts.wait || opts.test && !opts.asked
			return send(cmd.Context(), opts, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	addConfigFlags(cmd, &opts.flags)
	f := cmd.Flags()
	f.StringVar(&opts.address, "url", "", "the relay (default: listen of the configuration)")
	f.StringVar(&opts.channel, "channel", "", onlyChannel)
	f.StringVar(&opts.token, "token", "",
		"the channel's ingress token (default: from the configuration; other users of this machine can see a flag)")
	f.BoolVar(&opts.test, "test", false, "use the test lane: the event is posted and marked as a test, and spends no slot of the channel")
	f.BoolVar(&opts.wait, "wait", false, "wait for Slack's answer, and print it (default with --test)")
	f.DurationVar(&opts.waitFor, "wait-for", 30*time.Second, "how long --wait waits")
	f.StringVar(&opts.ops.address, "ops-url", "", "the relay's ops listener, for --wait (default: ops_listen of the configuration)")
	f.BoolVar(&opts.json, "json", false, "print the receipt as JSON, and with --wait the deliveries too")
	f.StringVar(&opts.event.Title, "title", "", "what happened, in one line")
	f.StringVar(&opts.event.Text, "text", "", "details")
	f.StringVar(&opts.event.Category, "category", "", "the category whose limit applies")
	f.StringVar(&opts.event.Severity, "severity", "", "critical, error, warning or info")
	f.StringVar(&opts.event.Status, "status", "", "firing or resolved")
	f.StringVar(&opts.event.Fingerprint, "fingerprint", "", "which alert this is: a resolve belongs to the firing with the same fingerprint")
	f.StringVar(&opts.event.Link, "link", "", "a URL with details")
	f.StringVar(&opts.event.ID, "id", "", "an id: within an hour, another event with it is a duplicate")
	f.StringToStringVar(&opts.event.Labels, "label", nil, "a label, name=value; repeatable")
	opts.completeFlags(cmd)
	return cmd
}

// completeFlags sets what a shell completes flags to.
func (o *sendOptions) completeFlags(cmd *cobra.Command) {
	completeFlag(cmd, "channel", o.ops.asked(func(ctx context.Context, typed string) ([]string, error) {
		o.ops.flags = o.flags
		return o.ops.channels(ctx, typed)
	}))
	completeFlag(cmd, "category", o.ops.asked(func(ctx context.Context, typed string) ([]string, error) {
		o.ops.flags, o.ops.channel = o.flags, o.channel
		return o.ops.categories(ctx, typed)
	}))
	completeWords(cmd, "severity", "critical", "error", "warning", "info")
	completeWords(cmd, "status", "firing", "resolved")
}

func send(ctx context.Context, opts sendOptions, out, notes io.Writer) error {
	if opts.event.Title == "" && opts.event.Text == "" {
		return usagef("--title and --text are both missing; give one of them; see relay send --help")
	}
	if err := opts.complete(); err != nil {
		return err
	}
	opts.ops.flags = opts.flags
	receipt, err := opts.post(ctx)
	if err != nil {
		return err
	}
	if opts.json {
		err = opts.sendJSON(ctx, receipt, out)
	} else {
		err = opts.sendText(ctx, receipt, out)
	}
	if _, answered := errors.AsType[*exitError](err); err != nil && !answered && !opts.asked {
		fmt.Fprintf(notes, "relay: Slack's answer is not known: %v; set --ops-url, or --wait=false\n", err)
		return nil
	}
	return err
}

// sendText prints the outcome of each event, and with --wait what becomes of its message.
func (o *sendOptions) sendText(ctx context.Context, receipt pipeline.Receipt, out io.Writer) error {
	for _, e := range receipt.Events {
		fmt.Fprintln(out, outcomeLine(e))
	}
	if !o.wait {
		return nil
	}
	_, err := o.follow(ctx, receipt, out)
	return err
}

// sentJSON is what relay send --json prints.
type sentJSON struct {
	pipeline.Receipt

	// Deliveries are what is known in the end of the messages of the events, by their ids; nil without --wait.
	Deliveries map[string]pipeline.DeliveryState `json:"deliveries,omitempty"`
}

// sendJSON prints the receipt, with --wait when the messages of its events have ended.
func (o *sendOptions) sendJSON(ctx context.Context, receipt pipeline.Receipt, out io.Writer) error {
	sent := sentJSON{Receipt: receipt}
	var err error
	if o.wait {
		sent.Deliveries, err = o.follow(ctx, receipt, io.Discard)
	}
	return cmp.Or(printJSON(out, sent), err)
}

// complete sets the flags that were not given from the configuration.
func (o *sendOptions) complete() error {
	loaded, err := configs.Load(o.flags)
	if err != nil {
		return err
	}
	if err := needChannel(&loaded.Config, o.channel); err != nil {
		return err
	}
	o.channel = cmp.Or(o.channel, loaded.Config.FirstChannel())
	if ch, known := loaded.Config.Channel(o.channel); known {
		o.token = cmp.Or(o.token, string(ch.IngressToken))
	}
	o.address = cmp.Or(o.address, baseURL(loaded.Config.Listen))
	return nil
}

// sendTimeout bounds posting one event.
const sendTimeout = 10 * time.Second

// post posts the event in the relay's own format.
func (o *sendOptions) post(ctx context.Context) (pipeline.Receipt, error) {
	path := "/hooks/" + url.PathEscape(o.channel) + "/generic"
	query := url.Values{}
	if o.test {
		query.Set("test", "1")
	}
	if o.wait {
		query.Set("track", "1")
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	relay := client{address: o.address, flag: "--url", token: o.token, timeout: sendTimeout}
	var receipt pipeline.Receipt
	err := relay.do(ctx, call{method: http.MethodPost, path: path, body: o.event, reply: &receipt})
	return receipt, err
}

// outcomeLine is the outcome of an event in one line.
func outcomeLine(e pipeline.EventReceipt) string {
	line := fmt.Sprintf("%s  category %s  id %s", e.Outcome, e.Category, e.ID)
	if e.Channel != "" {
		line += "  channel " + e.Channel
	}
	switch {
	case e.By != "":
		return line + ": by the " + e.By
	case e.RetryAfter != nil:
		wait := time.Duration(*e.RetryAfter * float64(time.Second)).Round(time.Second)
		return fmt.Sprintf("%s: the limit of the %s is reached; the next slot is free in %s", line, e.Level, wait)
	case e.Explanation != "":
		return line + ": " + e.Explanation
	default:
		return line
	}
}
