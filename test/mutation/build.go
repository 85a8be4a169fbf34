package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// build is the test binaries with all mutants in them, and the sources of the scripts.
type build struct {
	dir      string
	mutants  []mutant
	binaries []binary
	sources  map[string]string // of the scripts, by path
	composer composer
	overlaid map[string]string // what the compiler reads = the file of the tree that it stands for
}

// binary is the tests of one package.
type binary struct{ pkg, path string }

// scriptHook is what the package of the scripts gets: the text of a script may come from MUTATION_SCRIPTS.
const scriptHook = `
import (
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
)

func mutScript(source string) string {
	dir := os.Getenv("MUTATION_SCRIPTS")
	if dir == "" {
		return source
	}
	sum := sha1.Sum([]byte(source))
	if changed, err := os.ReadFile(filepath.Join(dir, hex.EncodeToString(sum[:]))); err == nil {
		return string(changed)
	}
	return source
}
`

// newBuild finds the mutants and builds the test binaries in a directory.
func newBuild(o options, dir string) (*build, error) {
	b := &build{dir: dir, sources: map[string]string{}}
	sources, err := files(o.lua)
	if err != nil {
		return nil, err
	}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		b.sources[path] = string(source)
		if !strings.Contains(string(source), "DO NOT EDIT") { // the composer makes what is generated again
			b.mutants = append(b.mutants, luaMutants(path, string(source))...)
		}
	}
	if b.composer, err = newComposer(o, b.sources, dir); err != nil {
		return nil, err
	}
	golang, err := files(o.golang)
	if err != nil {
		return nil, err
	}
	packages, err := loadGo(golang)
	if err != nil {
		return nil, err
	}
	id := 0
	for _, p := range packages {
		for _, path := range sortedKeys(p.files) {
			sites := p.files[path].sites
			for i := range sites {
				id++
				sites[i].mutant.id = id
			}
		}
	}
	if o.list {
		b.collect(packages)
		return b, nil
	}
	return b, b.compile(o, packages)
}

// collect adds the mutants of the Go files.
func (b *build) collect(packages []*goPackage) {
	for _, p := range packages {
		for _, path := range sortedKeys(p.files) {
			var own []mutant
			for _, s := range p.files[path].sites {
				own = append(own, s.mutant)
			}
			number(own)
			b.mutants = append(b.mutants, own...)
		}
	}
}

// faulty is where the compiler refuses a file.
var faulty = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

// compile builds the test binaries. Mutants of lines that do not compile with them are left out, and it tries again.
func (b *build) compile(o options, packages []*goPackage) error {
	for range 20 {
		overlay, err := b.overlay(o, packages)
		if err != nil {
			return err
		}
		output, err := b.testBinaries(o, overlay)
		if err == nil {
			b.collect(packages)
			return nil
		}
		if b.leaveOut(packages, output) == 0 {
			return fmt.Errorf("build the tests: %w\n%s", err, output)
		}
	}
	return fmt.Errorf("build the tests: too many mutants do not compile")
}

// leaveOut removes the mutants of the lines that a compiler names, and counts them.
func (b *build) leaveOut(packages []*goPackage, output string) (removed int) {
	for _, match := range faulty.FindAllStringSubmatch(output, -1) {
		line, _ := strconv.Atoi(match[2])
		for _, p := range packages {
			for path, file := range p.files {
				if b.overlaid[match[1]] != path {
					continue
				}
				var kept []site
				for _, s := range file.sites {
					if s.mutant.line != line {
						kept = append(kept, s)
					}
				}
				removed += len(file.sites) - len(kept)
				file.sites = kept
			}
		}
	}
	return removed
}

// overlay writes the files that the compiler shall read instead of those of the tree, and returns its list.
func (b *build) overlay(o options, packages []*goPackage) (string, error) {
	replaced := map[string]string{}
	b.overlaid = map[string]string{}
	put := func(path string, content []byte) error {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		replaced[absolute] = filepath.Join(b.dir, fmt.Sprint("overlay-", len(replaced), ".go"))
		b.overlaid[replaced[absolute]] = path
		return os.WriteFile(replaced[absolute], content, 0o600)
	}
	for _, p := range packages {
		for path, file := range p.files {
			if err := put(path, file.render()); err != nil {
				return "", err
			}
		}
		if err := put(filepath.Join(p.dir, "zz_mutation.go"), p.runtimeFile()); err != nil {
			return "", err
		}
	}
	if err := hookScripts(o.scripts, put); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// hookScripts has every script of a package pass through the hook.
func hookScripts(dir string, put func(path string, content []byte) error) error {
	paths, err := files(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	name := ""
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if match := regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(source); match != nil {
			name = string(match[1])
		}
		hooked := regexp.MustCompile(`redis\.NewScript\(([^()]+(?:\([^()]*\))?)\)`).ReplaceAll(source, []byte("redis.NewScript(mutScript($1))"))
		if !bytes.Equal(hooked, source) {
			if err := put(path, hooked); err != nil {
				return err
			}
		}
	}
	return put(filepath.Join(dir, "zz_mutation_scripts.go"), []byte("package "+name+"\n"+scriptHook))
}

// testBinaries builds them; the output is the compiler's.
func (b *build) testBinaries(o options, overlay string) (string, error) {
	b.binaries = nil
	for pkg := range strings.SplitSeq(o.packages, ",") {
		path := filepath.Join(b.dir, strings.NewReplacer("/", "_", ".", "").Replace(pkg)+".test")
		args := []string{"test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", path, pkg}
		command := exec.Command("go", args...) //nolint:gosec,noctx // as the caller said; it ends
		output, err := command.CombinedOutput()
		if err != nil {
			return string(output), err
		}
		b.binaries = append(b.binaries, binary{pkg, path})
	}
	return "", nil
}
