package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
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
}

// genericEvent is the body of the relay's own format.
type genericEvent struct {
	ID       string            `json:"id,omitempty"`
	Category string            `json:"category,omitempty"`
	Title    string            `json:"title,omitempty"`
	Text     string            `json:"text,omitempty"`
	Severity string            `json:"severity,omitempty"`
	Status   string            `json:"status,omitempty"`
	Link     string            `json:"link,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

func newSend() *cobra.Command {
	var opts sendOptions
	cmd := &cobra.Command{
		Use:     "send --title TITLE",
		Short:   "Post one event to a running relay and say what became of it",
		Example: "  relay send --title 'Disk full on db-1' --category disk --severity critical --label host=db-1",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return send(cmd.Context(), opts, cmd.OutOrStdout()) },
	}
	addConfigFlags(cmd, &opts.flags)
	f := cmd.Flags()
	f.StringVar(&opts.address, "url", "", "the relay (default: where the configuration listens)")
	f.StringVar(&opts.channel, "channel", "", "the channel (default: the first of the configuration)")
	f.StringVar(&opts.token, "token", "", "the channel's ingress token (default: from the configuration; other users of this machine can see a flag)")
	f.BoolVar(&opts.test, "test", false, "through the test lane: the whole way, marked, without spending a real slot")
	f.StringVar(&opts.event.Title, "title", "", "one line that says what happened")
	f.StringVar(&opts.event.Text, "text", "", "more about it")
	f.StringVar(&opts.event.Category, "category", "", "the category it counts for")
	f.StringVar(&opts.event.Severity, "severity", "", "critical, error, warning or info")
	f.StringVar(&opts.event.Status, "status", "", "firing or resolved")
	f.StringVar(&opts.event.Link, "link", "", "where to look")
	f.StringVar(&opts.event.ID, "id", "", "an id: a repeat within an hour is a duplicate")
	f.StringToStringVar(&opts.event.Labels, "label", nil, "a label, name=value; may be given more than once")
	return cmd
}

func send(ctx context.Context, opts sendOptions, out io.Writer) error {
	if opts.event.Title == "" && opts.event.Text == "" {
		return usagef("--title or --text is needed; see relay send --help")
	}
	if err := opts.fillIn(); err != nil {
		return err
	}
	receipt, err := post(ctx, opts)
	if err != nil {
		return err
	}
	for _, e := range receipt.Events {
		_, err = fmt.Fprintln(out, describe(e))
	}
	return err
}

// fillIn takes from the configuration what no flag says.
func (o *sendOptions) fillIn() error {
	loaded, err := configs.Load(o.flags)
	if err != nil {
		return err
	}
	o.channel = cmp.Or(o.channel, loaded.Config.Channels[0].Name)
	if ch, known := loaded.Config.Channel(o.channel); known {
		o.token = cmp.Or(o.token, string(ch.IngressToken))
	}
	if o.address == "" {
		host, port, _ := net.SplitHostPort(loaded.Config.Listen) // validated
		o.address = "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
	}
	return nil
}

func post(ctx context.Context, opts sendOptions) (pipeline.Receipt, error) {
	var receipt pipeline.Receipt
	body, err := json.Marshal(opts.event)
	if err != nil {
		return receipt, fmt.Errorf("encode the event: %w", err)
	}
	target := strings.TrimSuffix(opts.address, "/") + "/hooks/" + url.PathEscape(opts.channel) + "/generic"
	if opts.test {
		target += "?test=1"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return receipt, usagef("--url %q is not an address like http://127.0.0.1:8080", opts.address)
	}
	request.Header.Set("Content-Type", "application/json")
	if opts.token != "" {
		request.Header.Set("Authorization", "Bearer "+opts.token)
	}
	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return receipt, fmt.Errorf("post the event: %w; is a relay running there? start one with: relay serve", err)
	}
	defer response.Body.Close()
	return receipt, readReply(response, &receipt)
}

// readReply reads the relay's receipt, or its error as it said it.
func readReply(response *http.Response, receipt *pipeline.Receipt) error {
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	if response.StatusCode == http.StatusAccepted {
		if err := json.Unmarshal(answer, receipt); err != nil {
			return fmt.Errorf("read the receipt: %w", err)
		}
		return nil
	}
	return refusalOf(response, answer)
}

// describe says what became of an event, in one line.
func describe(e pipeline.EventReceipt) string {
	line := fmt.Sprintf("%s  category %s  id %s", e.Outcome, e.Category, e.ID)
	if e.Channel != "" {
		line += "  channel " + e.Channel
	}
	switch {
	case e.By != "":
		return line + ": by the " + e.By
	case e.RetryAfter != nil:
		wait := time.Duration(*e.RetryAfter * float64(time.Second)).Round(time.Second)
		return fmt.Sprintf("%s: the limit of the %s is reached; there is room again in %s", line, e.Level, wait)
	case e.Level == "suppressed":
		return line + ": it resolves an alert that was never posted here"
	case e.Level == "full":
		return line + ": the queue for slots is full"
	case e.Level != "":
		return line + ": it can never fit the limits"
	default:
		return line
	}
}
