package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"slackrelay/pipeline"
)

// print prints, line by line, the decoded event, each rule, and the decision.
func (x *explained) print(out io.Writer) {
	lines := newTable(out, "source", cleaned(x.Decoded.Source))
	defer fmt.Fprintln(out)
	defer lines.flush()
	line := func(name, value string) { lines.row(cleaned(name), cleaned(value)) }
	line("title", x.Decoded.Title)
	optional := func(name, value string) {
		if value != "" {
			line(name, value)
		}
	}
	optional("text", firstLineOf(x.Decoded.Text))
	line("category", changed(x.Decoded.Category, x.Event.Category))
	line("severity", changed(string(x.Decoded.Severity), string(x.Event.Severity)))
	line("status", changed(string(x.Decoded.Status), string(x.Event.Status)))
	line("channel", changed(x.Decoded.Channel, x.Event.Channel))
	optional("template", x.template())
	if len(x.Verdict.Copies) > 0 {
		line("copies to", strings.Join(x.Verdict.Copies, ", "))
	}
	for _, link := range x.Decoded.Links {
		line("link", link.URL)
	}
	line("id", x.Decoded.ID)
	optional("fingerprint", x.Decoded.Fingerprint)
	if !x.Decoded.StartedAt.IsZero() {
		line("started_at", x.Decoded.StartedAt.Format(time.RFC3339))
	}
	if labels, err := json.Marshal(x.Decoded.Labels); err == nil && len(x.Decoded.Labels) > 0 {
		line("labels", string(labels))
	}
	if x.Decoded.Shortened > 0 {
		line("shortened", fmt.Sprintf("from %d bytes; see max_event", x.Decoded.Shortened))
	}
	for _, origin := range x.Origins {
		line("found "+origin.Field, origin.Rule+inParentheses(origin.From))
	}
	for _, step := range x.Verdict.Steps {
		mark := "no "
		if step.Matched {
			mark = "yes"
		}
		line("rule "+step.Rule, mark+"  "+step.Why)
	}
	line("decided", x.decision())
	optional("reminder", x.Reminder)
}

// maxShown is how much of a text is shown, in bytes.
const maxShown = 120

// firstLineOf returns the beginning of a text.
func firstLineOf(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if len(line) > maxShown {
		line, more = strings.ToValidUTF8(line[:maxShown], ""), true
	}
	if more {
		line += " …"
	}
	return line
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// fallbackReasons are the reasons why an event goes to the fallback of a template.
var fallbackReasons = map[string]string{
	pipeline.NoValue:  "the event has no such label",
	pipeline.BadValue: "the value of the label gets no channel",
}

// template describes what the template makes of the event; "" = it goes to none.
func (x *explained) template() string {
	switch {
	case x.Template == "":
		return ""
	case x.Fallback != "":
		return x.Template + ": " + fallbackReasons[x.Fallback] + ", so that it goes to the fallback"
	default:
		return x.Template + ": " + x.Event.Channel + ", unless it has max_channels others"
	}
}

func (x *explained) decision() string {
	if x.Heartbeat != "" {
		return "heartbeat " + x.Heartbeat + ": muted"
	}
	by := "no rule"
	if n := len(x.Verdict.Rules); n > 0 {
		by = "rule " + x.Verdict.Rules[n-1]
	}
	if x.Verdict.Muted {
		return "rule " + x.Verdict.MutedBy + ": muted"
	}
	return by + ": the limits of channel " + x.Event.Channel + ", category " + x.Event.Category + ", apply"
}

func changed(before, after string) string {
	if before == after {
		return cmp.Or(before, "none")
	}
	return cmp.Or(before, "none") + " -> " + cmp.Or(after, "none")
}
