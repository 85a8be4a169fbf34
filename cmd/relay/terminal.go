package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"slackrelay/events"
)

// terminal writes text for a terminal without the characters that control it or are invisible, so that no sender of an event
// can change what an operator sees. All output of commands goes through one; the program's own colours bypass it (unfiltered).
// It keeps the first error, so that commands need not check each line that they print.
type terminal struct {
	out io.Writer

	mu      sync.Mutex
	partial []byte // the beginning of a character whose end was not written yet
	err     error  // of the first write that failed
}

func newTerminal(out io.Writer) *terminal { return &terminal{out: out} }

// Write implements [io.Writer].
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(t.partial, p...)
	t.partial = nil
	shown := make([]byte, 0, len(text))
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			t.partial = append(t.partial, text...)
			break
		}
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if r == '\n' || r == '\t' || !events.Hidden(r) {
			shown = utf8.AppendRune(shown, r)
		}
	}
	if _, err := t.out.Write(shown); err != nil {
		t.err = cmp.Or(t.err, fmt.Errorf("print: %w", err))
		return 0, t.err
	}
	return len(p), nil
}

// unfiltered is the writer below a terminal, for progress bars, colours and clearing the screen. What a sender wrote must be
// cleaned before it goes there.
func unfiltered(out io.Writer) io.Writer {
	if t, ok := out.(*terminal); ok {
		return t.out
	}
	return out
}

// cleaned is a text on one line without what a terminal leaves out: a title must not add a line to a list.
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

// escapedJSON writes the characters that a terminal would leave out as \u escapes, so that the JSON keeps its meaning.
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
