package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// isTerminal reports whether out is a terminal, not a file or a pipe.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// size is how many characters a terminal shows.
type size struct{ columns, rows int }

// sizeOf returns the size of a terminal; the zero value = unknown.
func sizeOf(out io.Writer) size {
	file, ok := out.(*os.File)
	if !ok {
		return size{}
	}
	columns, rows, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return size{}
	}
	return size{columns, rows}
}

// fitted is a text of which a terminal shows everything: of one that is too long, the middle is left out, so that both its head and
// the readiness at its end are seen.
func fitted(text string, window size) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	room := window.rows - 1 // the cursor is below the text
	if window.columns < 1 || room < 3 || rowsOf(lines, window.columns) <= room {
		return text
	}
	room-- // for the line that says how much is left out
	tail := lastWithin(lines, room/3, window.columns)
	head := firstWithin(lines, room-rowsOf(tail, window.columns), window.columns)
	leftOut := fmt.Sprintf("… %d more lines; see fewer with --name, --state or --channel", len(lines)-len(head)-len(tail))
	if runes := []rune(leftOut); len(runes) > window.columns {
		leftOut = string(runes[:window.columns])
	}
	return strings.Join(append(append(slices.Clip(head), leftOut), tail...), "\n") + "\n"
}

// firstWithin returns the first lines that take no more than some rows.
func firstWithin(lines []string, rows, columns int) []string {
	for i, line := range lines {
		if rows -= rowsOf([]string{line}, columns); rows < 0 {
			return lines[:i]
		}
	}
	return lines
}

// lastWithin returns the last lines that take no more than some rows.
func lastWithin(lines []string, rows, columns int) []string {
	for i, line := range slices.Backward(lines) {
		if rows -= rowsOf([]string{line}, columns); rows < 0 {
			return lines[i+1:]
		}
	}
	return lines
}

// colours are the sequences that colour a text.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// rowsOf returns how many rows of a terminal lines take: long ones take several.
func rowsOf(lines []string, columns int) int {
	rows := 0
	for _, line := range lines {
		width := utf8.RuneCountInString(colours.ReplaceAllString(line, ""))
		rows += max(1, (width+columns-1)/columns)
	}
	return rows
}
