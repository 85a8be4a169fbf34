package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// accessOf matches a key in a header, by how the script uses it: "seen     (rw)" is read and written.
var accessOf = regexp.MustCompile(`\b([a-z]+) +\((rw|r|w)\)`)

// keyTable returns the table of keys by script, as the headers have them. scripts are texts by name.
func keyTable(scripts map[string]string) string {
	readers, writers := map[string][]string{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if name == "probe" { // its keys are its own
			continue
		}
		header, _, _ := strings.Cut(scripts[name], "\n-- ARGV")
		for _, found := range accessOf.FindAllStringSubmatch(header, -1) {
			key, access := found[1], found[2]
			by := readers
			if strings.Contains(access, "w") {
				by = writers
			}
			if !slices.Contains(by[key], name) {
				by[key] = append(by[key], name)
			}
		}
	}
	keys := slices.Concat(slices.Collect(maps.Keys(readers)), slices.Collect(maps.Keys(writers)))
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString("| key | written by | only read by |\n|---|---|---|\n")
	for _, key := range slices.Compact(keys) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, strings.Join(writers[key], ", "), strings.Join(readers[key], ", "))
	}
	return b.String()
}

// The table takes the place of what is between these lines of docs/redis.md.
const (
	tableBegins = "<!-- keys by script: go generate ./lua -->\n"
	tableEnds   = "<!-- end of keys by script -->\n"
)

// withTable returns a page with the table in its place.
func withTable(page, table string) (string, error) {
	before, rest, begins := strings.Cut(page, tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return "", fmt.Errorf("the page needs the lines %q and %q", tableBegins, tableEnds)
	}
	return before + tableBegins + table + tableEnds + after, nil
}
