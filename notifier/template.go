package notifier

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"slackrelay/events"
)

// Template renders the headline and the text of an event with a channel's own templates (text/template). The data is escaped,
// so that the template itself can use mrkdwn: *bold*, <url|text>.
type Template struct {
	title, text *template.Template
}

// Bounds of a template: a mistake of the operator must not block a channel.
const (
	maxTemplateOutput = 12_000
	maxTemplateTime   = 100 * time.Millisecond
	maxTrialTime      = 5 * time.Second // the machine may be busy when the relay starts
	maxTemplateNumber = 10_000
	maxTemplateLoops  = 2 // nested
	maxTemplateSteps  = 50_000
)

// TemplateData is the data of a template. All text is escaped. Link is the first link of the event; "" = it has none.
type TemplateData struct {
	Title, Text, Category, Severity, Status, Source, Sender, Channel, Link string
	Labels                                                                 map[string]string
	StartedAt                                                              time.Time
}

var templateFunctions = template.FuncMap{
	"upper":   strings.ToUpper,
	"lower":   strings.ToLower,
	"default": func(fallback, s string) string { return map[bool]string{true: fallback, false: s}[s == ""] },
	"cut":     func(n int, s string) string { return cutMarkup(s, max(1, n)) },
}

// ParseTemplate parses the templates of a channel and executes them once with a sample event. An empty template stands for the
// default layout; if both are empty, the result is nil without an error.
func ParseTemplate(title, text string) (*Template, error) {
	if title == "" && text == "" {
		return nil, nil //nolint:nilnil // documented: there is no template and nothing is wrong
	}
	var t Template
	var err error
	if t.title, err = parseTemplate("title", title); err != nil {
		return nil, err
	}
	if t.text, err = parseTemplate("text", text); err != nil {
		return nil, err
	}
	sample := dataOf(events.Event{
		Title: "Disk full", Text: "/var is full", Category: "disk", Severity: events.Critical, Status: events.Firing, Source: "generic",
		Sender: "default", Channel: "alerts", Labels: map[string]string{"host": "db-1"}, StartedAt: time.Unix(0, 0),
	})
	for _, one := range []*template.Template{t.title, t.text} {
		if _, err := execute(one, sample, maxTrialTime); err != nil {
			return nil, err
		}
	}
	return &t, nil
}

// parseTemplate parses a template that must end; nil for an empty one.
func parseTemplate(name, source string) (*template.Template, error) {
	if source == "" {
		return nil, nil //nolint:nilnil // documented: the default layout applies
	}
	parsed, err := template.New(name).Funcs(templateFunctions).Option("missingkey=zero").Parse(source)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(parsed.Templates()) > 1 {
		return nil, fmt.Errorf("template %s: define and block are not allowed", name)
	}
	if err := checkNode(parsed.Root, 0); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return parsed, nil
}

// step is an empty text at the beginning of each iteration of a loop: a template can only be stopped where it writes.
var step = &parse.TextNode{NodeType: parse.NodeText}

// checkNode rejects templates that could run forever: calls of templates, loops over large numbers and deeply nested loops.
func checkNode(node parse.Node, loops int) error {
	var inside []parse.Node
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			inside = n.Nodes
		}
	case *parse.RangeNode:
		if loops++; loops > maxTemplateLoops {
			return fmt.Errorf("more than %d nested loops", maxTemplateLoops)
		}
		inside = []parse.Node{n.Pipe, n.List, n.ElseList}
		n.List.Nodes = append([]parse.Node{step}, n.List.Nodes...)
	case *parse.IfNode:
		inside = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.WithNode:
		inside = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.ActionNode:
		inside = []parse.Node{n.Pipe}
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			inside = append(inside, command.Args...)
		}
	case *parse.TemplateNode:
		return errors.New("calling a template is not allowed")
	case *parse.NumberNode:
		if n.Float64 > maxTemplateNumber {
			return fmt.Errorf("the number %s is above %d", n.Text, maxTemplateNumber)
		}
	}
	for _, child := range inside {
		if err := checkNode(child, loops); err != nil {
			return err
		}
	}
	return nil
}

func dataOf(e events.Event) TemplateData {
	safe := func(s string) string { return escaped(s, maxTemplateOutput) }
	d := TemplateData{
		Title: safe(titleOf(e)), Text: safe(e.Text), Category: safe(e.Category), Severity: string(e.Severity), Status: string(e.Status),
		Source: e.Source, Sender: safe(e.Sender), Channel: e.Channel, StartedAt: e.StartedAt, Labels: map[string]string{},
	}
	if len(e.Links) > 0 {
		d.Link = safeURL(e.Links[0].URL)
	}
	for name, value := range e.Labels {
		d.Labels[safe(name)] = safe(value)
	}
	return d
}

// run renders an event; ok is false without a template. A template that fails leaves the default layout.
func (t *Template) run(e NotificationEvent) (title, text string, ok bool) {
	if t == nil {
		return "", "", false
	}
	data := dataOf(e.current())
	title = Renderer{}.headline(e)
	text = escaped(e.body(), maxSection)
	if output, err := execute(t.title, data, maxTemplateTime); err == nil && t.title != nil {
		title = cutMarkup(oneLine(output), maxHeadline)
	}
	if output, err := execute(t.text, data, maxTemplateTime); err == nil && t.text != nil {
		text = cutMarkup(strings.TrimSpace(output), maxSection)
	}
	return title, text, strings.TrimSpace(title) != ""
}

func execute(t *template.Template, data TemplateData, timeout time.Duration) (string, error) {
	if t == nil {
		return "", nil
	}
	out := &boundedWriter{until: time.Now().Add(timeout), timeout: timeout}
	if err := t.Execute(out, data); err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return out.String(), nil
}

// boundedWriter stops a template that writes too much, too often, or for too long.
type boundedWriter struct {
	strings.Builder
	steps   int
	until   time.Time
	timeout time.Duration
}

// Write implements [io.Writer].
func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.Len()+len(p) > maxTemplateOutput {
		return 0, fmt.Errorf("it writes more than %d bytes", maxTemplateOutput)
	}
	if w.steps++; w.steps > maxTemplateSteps {
		return 0, fmt.Errorf("it takes more than %d steps", maxTemplateSteps)
	}
	if time.Now().After(w.until) {
		return 0, fmt.Errorf("it takes longer than %s", w.timeout)
	}
	return w.Builder.Write(p) //nolint:wrapcheck // never fails
}
