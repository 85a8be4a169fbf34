package notifier

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/slack-go/slack"
)

// Preview replaces Slack where none is configured: it keeps the latest messages in memory and prints them.
type Preview struct {
	mu       sync.Mutex
	out      io.Writer
	channel  string
	keep     int
	messages []Message
	sent     int
}

var _ Sender = (*Preview)(nil)

// NewPreview makes a Preview for a channel. It prints to out (nil = nowhere) and keeps that many messages.
func NewPreview(channel string, out io.Writer, keep int) *Preview {
	return &Preview{out: out, channel: channel, keep: keep}
}

// Send implements [Sender]. It always succeeds.
func (p *Preview) Send(_ context.Context, m Message) (Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	p.messages = append(p.messages, m)
	if over := len(p.messages) - p.keep; over > 0 {
		p.messages = p.messages[over:]
	}
	if p.out != nil {
		fmt.Fprintf(p.out, "#%s  %s\n", p.channel, strings.ReplaceAll(Plain(m), "\n", "\n    "))
	}
	return Receipt{Channel: p.channel, TS: strconv.Itoa(p.sent) + ".000000"}, nil
}

// Messages returns the latest messages, oldest first.
func (p *Preview) Messages() []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Message(nil), p.messages...)
}

// PrintTo changes where messages are printed; nil = nowhere.
func (p *Preview) PrintTo(out io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = out
}

// Kind returns the meaning of a message's colour: its severity, "good" if it is resolved, "" without a colour.
func (m Message) Kind() string {
	if m.Color == resolvedStyle.color {
		return "good"
	}
	for severity, look := range styles {
		if m.Color == look.color {
			return string(severity)
		}
	}
	return ""
}

var markup = regexp.MustCompile(`<(?:!date[^|>]*|[^|>]*)\|([^>]*)>`)

// Plain returns a message as plain text, for a terminal.
func Plain(m Message) string {
	lines := []string{m.Text}
	switch {
	case m.Native != nil:
		lines = append(lines, m.Fallback)
	case m.Wide:
		lines = nil // the blocks repeat the text
	}
	for _, block := range m.withoutData().Blocks {
		switch b := block.(type) {
		case *slack.SectionBlock:
			lines = append(lines, b.Text.Text)
		case *slack.ContextBlock:
			for _, element := range b.ContextElements.Elements {
				if text, ok := element.(*slack.TextBlockObject); ok {
					lines = append(lines, text.Text)
				}
			}
		}
	}
	plain := markup.ReplaceAllString(strings.Join(lines, "\n"), "$1")
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "*", "").Replace(plain)
}
