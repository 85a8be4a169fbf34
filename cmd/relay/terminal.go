package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"slackrelay/events"
)

// terminal writes text for a terminal: characters that steer it, or hide, are left out, so that nobody who sends an event
// changes what an operator sees. All that commands print goes through one; colours of the program's own go round it (plainly).
type terminal struct {
	out io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character whose end has not come
}

func newTerminal(out io.Writer) *terminal { return &terminal{out: out} }

// Write implements [io.Writer].
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(t.rest, p...)
	t.rest = nil
	shown := make([]byte, 0, len(text))
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			t.rest = append(t.rest, text...)
			break
		}
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if r == '\n' || r == '\t' || !events.Hidden(r) {
			shown = utf8.AppendRune(shown, r)
		}
	}
	if _, err := t.out.Write(shown); err != nil {
		return 0, fmt.Errorf("print: %w", err)
	}
	return len(p), nil
}

// plainly is where a writer writes in the end: for bars, colours and clearing the screen. What a sender wrote must be
// cleaned before it goes there.
func plainly(out io.Writer) io.Writer {
	if t, ok := out.(*terminal); ok {
		return t.out
	}
	return out
}

// cleaned is a text without what a terminal leaves out, and on one line: a title must not make a line of its own in a list.
func cleaned(text string) string {
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\v' || r == '\f':
			return ' '
		case events.Hidden(r):
			return -1
		default:
			return r
		}
	}, text)
	return strings.TrimSpace(shown)
}

// escapedJSON writes in JSON what a terminal would leave out as \u escapes: it stays what it is for whoever reads it.
func escapedJSON(encoded []byte) string {
	var b strings.Builder
	for _, r := range string(encoded) {
		switch {
		case r == '\n' || r == '\t' || !events.Hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			const surrogates, high, low, half, bits = 0x10000, 0xd800, 0xdc00, 0x3ff, 10
			fmt.Fprintf(&b, `\u%04x\u%04x`, high+(r-surrogates)>>bits, low+(r-surrogates)&half)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
