package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// includeLine is a line of a source that a part takes the place of. The part's lines are indented as the line is. With /*,
// all parts of a folder take its place, in the order of their names.
var includeLine = regexp.MustCompile(`^( *)--- @include (parts/[a-z0-9_/]+?)(/\*)?$`)

// compose returns the text of a script: its source with each include line replaced by the part that it names.
// A part may include further parts, but a script has each part only once: the parts share their local variables.
func compose(sources fs.FS, script string) (string, error) {
	c := composition{sources: sources, script: script, parts: map[string]bool{}}
	if err := c.add(script+".lua", ""); err != nil {
		return "", fmt.Errorf("compose %s.lua: %w", script, err)
	}
	return c.withNotice(), nil
}

type composition struct {
	sources fs.FS
	script  string
	parts   map[string]bool // those included so far
	lines   []string
}

// add appends the lines of a file, with its parts in their places.
func (c *composition) add(file, indent string) error {
	text, err := fs.ReadFile(c.sources, file)
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		include := includeLine.FindStringSubmatch(line)
		switch {
		case include != nil && include[3] != "":
			if err := c.includeFolder(include[2], indent+include[1]); err != nil {
				return err
			}
		case include != nil:
			if err := c.include(include[2], indent+include[1]); err != nil {
				return err
			}
		case strings.Contains(line, "@include"):
			return fmt.Errorf("%s: %q is not an include line; write --- @include parts/name or parts/folder/*", file, line)
		case line == "":
			c.lines = append(c.lines, "")
		default:
			c.lines = append(c.lines, indent+line)
		}
	}
	return nil
}

// includeFolder includes all parts of a folder, but not those of folders in it.
func (c *composition) includeFolder(folder, indent string) error {
	files, err := fs.Glob(c.sources, folder+"/*.lua")
	if err != nil {
		return err //nolint:wrapcheck // names the pattern
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no parts; write --- @include parts/folder/*", folder)
	}
	for _, file := range files { // in the order of their names
		if err := c.include(strings.TrimSuffix(file, ".lua"), indent); err != nil {
			return err
		}
	}
	return nil
}

func (c *composition) include(part, indent string) error {
	if c.parts[part] {
		return fmt.Errorf("%s is included twice; remove one of the includes", part)
	}
	c.parts[part] = true
	begin := len(c.lines)
	if err := c.add(part+".lua", indent); err != nil {
		return err
	}
	title := "-- part " + strings.TrimPrefix(part, "parts/") + ": "
	if begin == len(c.lines) || !strings.HasPrefix(strings.TrimSpace(c.lines[begin]), title) {
		return fmt.Errorf("%s.lua must begin with the line %q and what the part is for", part, title)
	}
	return nil
}

// withNotice adds to the header that the script is generated.
func (c *composition) withNotice() string {
	source := path.Join("lua/src", c.script+".lua")
	notice := []string{"--", "-- Code generated from " + source + " by go generate ./lua; DO NOT EDIT."}
	for i, line := range c.lines {
		if !strings.HasPrefix(line, "--") {
			c.lines = append(c.lines[:i], append(notice, c.lines[i:]...)...)
			break
		}
	}
	return strings.Join(c.lines, "\n") + "\n"
}
