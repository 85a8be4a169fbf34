package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// mutant is one change of one operator.
type mutant struct {
	file   string
	line   int
	text   string // of the line, without the white space around it
	change string // "< -> <="
	nth    int    // which of the line's operators with the same change, from 1

	id int // of a mutant of a Go file, from 1; 0 = of a script
	// offset and length are what a mutant of a script replaces, with.
	offset, length int
	with           string
}

// String is the mutant as equivalent.txt names it, with its line.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s\n    %s", m.file, m.line, m.label(), m.text)
}

// label is the change, and where the line has several like it, which one.
func (m mutant) label() string {
	if m.nth == 1 {
		return m.change
	}
	return fmt.Sprintf("%s (%d)", m.change, m.nth)
}

// key names a mutant whatever its line's number is.
func (m mutant) key() string { return m.file + ": " + m.label() + "\n" + m.text }

// matches tells whether "file:line: change" contains one of some texts, with commas between them.
func (m mutant) matches(texts string) bool {
	place := fmt.Sprintf("%s:%d: %s", m.file, m.line, m.label())
	for text := range strings.SplitSeq(texts, ",") {
		if strings.Contains(place, text) {
			return true
		}
	}
	return false
}

// number fills in which of a line's equal changes each mutant is.
func number(mutants []mutant) {
	seen := map[string]int{}
	for i := range mutants {
		place := fmt.Sprint(mutants[i].file, ":", mutants[i].line, ":", mutants[i].change)
		seen[place]++
		mutants[i].nth = seen[place]
	}
}

// equivalents are the mutants that cannot be noticed: their keys, with the reasons.
type equivalents map[string]string

// readEquivalents reads a list of
//
//	lua/admit.lua: 1000 -> 1001
//	    the text of the line
//	    # the reason
//
// Empty lines, and lines that begin with "#", are comments.
func readEquivalents(path string) (equivalents, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return equivalents{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of equivalent mutants: %w", err)
	}
	defer file.Close()
	all, head, key := equivalents{}, "", ""
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line, indented := strings.TrimSpace(lines.Text()), strings.HasPrefix(lines.Text(), " ")
		switch {
		case line == "" || !indented && strings.HasPrefix(line, "#"):
		case !indented:
			head, key = line, ""
		case key == "" && head != "":
			key = head + "\n" + line
			all[key] = ""
		case strings.HasPrefix(line, "#") && key != "":
			all[key] = strings.TrimSpace(all[key] + " " + strings.TrimSpace(line[1:]))
		default:
			return nil, fmt.Errorf("%s:%d: want a mutant, the text of its line, and a reason that begins with #", path, n)
		}
	}
	for key, reason := range all {
		if reason == "" {
			return nil, fmt.Errorf("%s: %s: it has no reason; add a line that begins with #", path, strings.ReplaceAll(key, "\n", " | "))
		}
	}
	return all, lines.Err()
}

// gone lists what names no mutant.
func (e equivalents) gone(mutants []mutant) []string {
	exists := map[string]bool{}
	for _, m := range mutants {
		exists[m.key()] = true
	}
	var gone []string
	for key := range e {
		if !exists[key] {
			gone = append(gone, strings.ReplaceAll(key, "\n", " | "))
		}
	}
	slices.Sort(gone)
	return gone
}

func (e equivalents) count(mutants []mutant) (n int) {
	for _, m := range mutants {
		if _, ok := e[m.key()]; ok {
			n++
		}
	}
	return n
}

// choose leaves out what is excused, and what was not asked for.
func choose(mutants []mutant, excused equivalents, o options) []mutant {
	var chosen []mutant
	for _, m := range mutants {
		if _, ok := excused[m.key()]; !ok && m.matches(o.run) {
			chosen = append(chosen, m)
		}
	}
	if o.sample == 0 || o.sample >= len(chosen) {
		return chosen
	}
	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // a sample is no secret
	random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	chosen = chosen[:o.sample]
	return chosen
}
