package main

import (
	"crypto/sha1" //nolint:gosec // as below
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// composer makes the scripts of their sources.
type composer struct {
	command string // "" = each source is a script
	sources map[string]string
	src     string            // directory of the sources
	dir     string            // for copies
	whole   map[string]string // the unchanged scripts, by name
}

func newComposer(o options, sources map[string]string, dir string) (composer, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return composer{}, err
	}
	built := filepath.Join(dir, "composer")
	if strings.Contains(o.compose, "{composer}") {
		command := exec.Command("go", "build", "-o", built, "./lua/compose") //nolint:noctx // our own directory; it ends
		if output, err := command.CombinedOutput(); err != nil {
			return composer{}, fmt.Errorf("build the composer: %w\n%s", err, output)
		}
	}
	s := composer{sources: sources, src: o.src, dir: dir}
	s.command = strings.NewReplacer("{composer}", built, "{root}", root).Replace(o.compose)
	s.whole, err = s.compose("", "")
	return s, err
}

// compose makes all scripts, with another text for one of the sources.
func (s *composer) compose(changed, text string) (map[string]string, error) {
	sources := maps.Clone(s.sources)
	if changed != "" {
		sources[changed] = text
	}
	if s.command == "" {
		return sources, nil
	}
	work, err := os.MkdirTemp(s.dir, "compose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	from, to := filepath.Join(work, "lua", "src"), filepath.Join(work, "out")
	for path, source := range sources {
		name, err := filepath.Rel(s.src, path)
		if err != nil {
			return nil, err
		}
		copied := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(copied, []byte(source), 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	line := strings.NewReplacer("{src}", from, "{out}", to).Replace(s.command)
	if output, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil { //nolint:gosec,noctx // the caller's own command; it ends
		return nil, fmt.Errorf("%s: %w\n%s", line, err, output)
	}
	paths, err := filepath.Glob(filepath.Join(to, "*.lua"))
	if err != nil {
		return nil, err
	}
	whole := map[string]string{}
	for _, path := range paths {
		script, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		whole[filepath.Base(path)] = string(script)
	}
	return whole, nil
}

// write puts the scripts that a mutant changes into a directory, each named by the hash of its unchanged text.
func (s *composer) write(m mutant, dir string) error {
	changed, err := s.compose(m.file, m.apply(s.sources[m.file]))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	n := 0
	for name, text := range changed {
		if text == s.whole[name] {
			continue
		}
		n++
		if err := put(dir, s.whole[name], text); err != nil {
			return err
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: no script changes with it", m)
	}
	return nil
}

// harmless writes scripts that differ from the unchanged ones in their text only.
func (s *composer) harmless(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, text := range s.whole {
		if err := put(dir, text, text+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// put writes what a script becomes, under the name that the hook looks for.
func put(dir, unchanged, changed string) error {
	sum := sha1.Sum([]byte(unchanged)) //nolint:gosec // it names scripts
	return os.WriteFile(filepath.Join(dir, hex.EncodeToString(sum[:])), []byte(changed), 0o600)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
