package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/configs"
	"slackrelay/events"
)

// explainOptions are the flags of relay check --explain.
type explainOptions struct {
	file, channel, source, sender, at string
	headers                           []string
	json                              bool
}

func (o *explainOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "explain", "", "a file with the body of a webhook; - = standard input")
	f.StringVar(&o.channel, "channel", "", "the channel it is posted to (default: the only one of the configuration)")
	f.StringVar(&o.source, "source", "", "its source, as in /hooks/<channel>/<source> (default: detected)")
	f.StringVar(&o.sender, "sender", "", "the name of the credential that sends it")
	f.StringVar(&o.at, "at", "", "when it arrives, like 2026-11-20T22:00:00Z (default now)")
	f.StringArrayVar(&o.headers, "header", nil, "a header of the request, 'Name: value'; repeatable")
	f.BoolVar(&o.json, "json", false, "print the verdict, or the explanation, or the findings of --online, as JSON")
}

// explained is how the relay decodes and classifies an event, before its limits are checked.
type explained struct {
	Decoded events.Event    `json:"decoded"`
	Origins []events.Origin `json:"origins"` // where the fields of Decoded came from
	Event   events.Event    `json:"event"`   // after the rules
	Verdict events.Verdict  `json:"verdict"`
	// Heartbeat is the heartbeat that the event is, which mutes it; no rule is evaluated then. Empty = none.
	Heartbeat string `json:"heartbeat,omitempty"`
	// Template is the template that the event goes to, and Fallback why it then goes to the fallback of that; "" = it does not.
	Template string `json:"template,omitempty"`
	Fallback string `json:"fallback,omitempty"`
	// Reminder says when people are reminded of the event if it is posted; "" = they are not.
	Reminder string `json:"reminder,omitempty"`
}

func (o *explainOptions) run(flags configs.Flags, in io.Reader, out io.Writer) error {
	loaded, err := configs.Load(flags)
	if err != nil {
		return err
	}
	all, err := o.explain(loaded.Config, in)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(out, map[string]any{"events": all})
	}
	for i := range all {
		all[i].print(out)
	}
	return nil
}

func (o *explainOptions) explain(cfg configs.Config, in io.Reader) ([]explained, error) {
	channel, err := channelOf(&cfg, o.channel)
	if err != nil {
		return nil, err
	}
	w, err := o.webhook(in)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if o.at != "" {
		if now, err = parseTime("--at", o.at); err != nil {
			return nil, err
		}
	}
	decoder, err := cfg.Decoder()
	if err != nil {
		return nil, err
	}
	decoded, err := decoder.Explain(w)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", o.file, err)
	}
	rules := cfg.Rules(channel)
	all := make([]explained, len(decoded))
	for i, d := range decoded {
		e := d.Event
		e.Channel, e.Sender = channel.Name, o.sender
		if e.Category == events.Uncategorized {
			e.Category = events.FallbackCategory(o.sender, w.Header)
		}
		all[i] = explained{Decoded: e, Event: e, Origins: d.Origins}
		if all[i].Heartbeat = heartbeatOf(cfg, &e, w.Header); all[i].Heartbeat != "" {
			all[i].Verdict.Muted = true
			all[i].Verdict.Channel = e.Channel
			continue
		}
		all[i].Verdict = rules.Explain(&all[i].Event, w.Header, now)
		all[i].route(cfg)
		if !all[i].Verdict.Muted {
			all[i].Reminder = cfg.ExplainReminder(all[i].Event.Channel, &all[i].Event)
		}
	}
	return all, nil
}

// heartbeatOf names the heartbeat that an event is; "" = none.
func heartbeatOf(cfg configs.Config, e *events.Event, header http.Header) string {
	for _, heartbeat := range cfg.SenderHeartbeats() {
		if heartbeat.Channel == e.Channel && heartbeat.Matches(e, header) {
			return heartbeat.Name
		}
	}
	return ""
}

// route finds the channels that the templates of the configuration make of the event.
func (x *explained) route(cfg configs.Config) {
	x.Event.Channel, x.Fallback = cfg.ChannelOf(x.Verdict.Channel, &x.Event)
	if x.Event.Channel != x.Verdict.Channel {
		x.Template = x.Verdict.Channel
	}
	for i, to := range x.Verdict.Copies {
		x.Verdict.Copies[i], _ = cfg.ChannelOf(to, &x.Event)
	}
}

func (o *explainOptions) webhook(in io.Reader) (events.Webhook, error) {
	w := events.Webhook{Source: o.source, Header: http.Header{}}
	for _, header := range o.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok {
			return w, usagef("--header: %q is not a header; write it like 'X-GitHub-Event: push'", header)
		}
		w.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	var err error
	if o.file == "-" {
		w.Body, err = io.ReadAll(in)
	} else {
		w.Body, err = os.ReadFile(o.file)
	}
	if err != nil {
		return w, usagef("--explain: %v; name a file with the body of a webhook", err)
	}
	return w, nil
}
