// Command compose writes the Redis scripts of package lua from their sources, and the table of their keys.
//
// A source is lua/src/<script>.lua. Its lines "--- @include parts/<part>" stand for the files in lua/src/parts, which
// share its local variables; "--- @include parts/<folder>/*" stands for all parts of a folder. The result,
// lua/<script>.lua, is one file that Redis runs and that redis-cli --eval takes as it is. The part of the outcomes is made
// from the table in store/outcome.go. go generate ./lua runs this command in the folder lua.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "compose:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// run writes all that is generated. dir is the folder of package lua.
func run(dir string) error {
	if err := write(generatedParts(dir)); err != nil { // before the scripts that include them
		return err
	}
	files, err := generate(dir)
	if err != nil {
		return err
	}
	return write(files)
}

func write(files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write what was generated: %w", err)
		}
	}
	return nil
}

// generatedParts returns the text of each part that is generated, by its path.
func generatedParts(dir string) map[string]string {
	return map[string]string{filepath.Join(dir, outcomesPart): outcomesTable()}
}

// generate returns the text of each generated script and page, by its path.
func generate(dir string) (map[string]string, error) {
	sources := os.DirFS(filepath.Join(dir, "src"))
	names, err := fs.Glob(sources, "*.lua")
	if err != nil {
		return nil, fmt.Errorf("list the sources: %w", err)
	}
	slices.Sort(names)
	files, scripts := map[string]string{}, map[string]string{}
	for _, name := range names {
		script := strings.TrimSuffix(name, ".lua")
		text, err := compose(sources, script)
		if err != nil {
			return nil, err
		}
		files[filepath.Join(dir, name)] = text
		scripts[script] = text
	}
	pageName := filepath.Join(dir, "..", "docs", "redis.md")
	page, err := os.ReadFile(pageName)
	if err != nil {
		return nil, fmt.Errorf("read the page of the keys: %w", err)
	}
	files[pageName], err = withTable(string(page), keyTable(scripts))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pageName, err)
	}
	return files, nil
}
