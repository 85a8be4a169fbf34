package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// runner runs the tests against mutants.
type runner struct {
	ctx context.Context
	options
	*build
	tests   []test // the quickest first
	killers killers
	dir     string
}

// test is one test, as it ran without a mutant.
type test struct {
	binary binary
	name   string
	took   time.Duration
	reach  map[int]bool // the mutants of Go files that it reaches
	exact  bool         // it fails with any other text of a script, and so notices nothing of its behaviour
}

// stage is tests that one process runs.
type stage struct {
	binary binary
	names  []string
	env    []string
}

// fate is the result of a mutant's tests.
type fate string

const (
	killed   fate = "killed"
	timedOut fate = "timed out"
	survived fate = "survived"
)

type result struct {
	mutant
	fate fate
	by   string // the test that noticed it
	took time.Duration
}

// newRunner runs every test once without a mutant, by itself: to know how long it takes, and what it reaches.
func newRunner(ctx context.Context, o options, b *build, dir string, out io.Writer) (*runner, error) {
	r := &runner{ctx: ctx, options: o, build: b, dir: dir}
	var all []test
	for _, bin := range b.binaries {
		names, err := r.list(bin)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	if err := b.composer.harmless(filepath.Join(dir, "harmless")); err != nil {
		return nil, err
	}
	errs := make([]error, len(all))
	r.parallel(len(all), func(i int) { errs[i] = r.baseline(&all[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("without a mutant: %w", err)
	}
	for _, t := range all {
		if t.exact {
			fmt.Fprintf(out, "left out for scripts, whose exact text it needs: %s\n", t.name)
		}
		if t.took <= o.longest {
			r.tests = append(r.tests, t)
			continue
		}
		fmt.Fprintf(out, "left out, as it takes %s: %s\n", t.took.Round(time.Second), t.name)
	}
	slices.SortStableFunc(r.tests, func(a, b test) int { return int(a.took - b.took) })
	return r, nil
}

// list reads the names of a package's tests.
func (r *runner) list(bin binary) (all []test, err error) {
	output, err := exec.CommandContext(r.ctx, bin.path, "-test.list", ".").Output() //nolint:gosec // built just now
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", bin.pkg, err)
	}
	skip, wanted := regexp.MustCompile(r.skip), regexp.MustCompile(r.options.tests)
	names, err := r.splitTests(bin, strings.Fields(string(output)))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !skip.MatchString(name) && wanted.MatchString(name) {
			all = append(all, test{binary: bin, name: name})
		}
	}
	return all, nil
}

// subtest is where a test begins one of its own.
var subtest = regexp.MustCompile(`(?m)^=== RUN +([^/ ]+/[^/ ]+)$`)

// splitTests replaces a test that is to be split by its subtests. It runs none of what is below them.
func (r *runner) splitTests(bin binary, names []string) (all []string, err error) {
	split := regexp.MustCompile(r.split)
	for _, name := range names {
		if !split.MatchString(name) {
			all = append(all, name)
			continue
		}
		args := []string{"-test.v", "-test.run", "^" + name + "$/./^none$"}
		command := exec.CommandContext(r.ctx, bin.path, args...) //nolint:gosec // built just now
		command.Dir = bin.pkg
		output, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("list the subtests of %s of %s: %w", name, bin.pkg, err)
		}
		for _, match := range subtest.FindAllStringSubmatch(string(output), -1) {
			all = append(all, match[1])
		}
	}
	return all, nil
}

// pattern matches tests with these names. Those with a "/" are subtests of one test.
func pattern(names []string) string {
	parent, _, isSubtest := strings.Cut(names[0], "/")
	if !isSubtest {
		return "^(" + strings.Join(names, "|") + ")$"
	}
	var below []string
	for _, name := range names {
		below = append(below, regexp.QuoteMeta(strings.TrimPrefix(name, parent+"/")))
	}
	return "^" + parent + "$/^(" + strings.Join(below, "|") + ")$"
}

// parallel calls f with 0 to n-1, several at the same time.
func (r *runner) parallel(n int, f func(i int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, r.jobs)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			f(i)
			<-slots
		})
	}
	all.Wait()
}

func (r *runner) baseline(t *test) error {
	trace := filepath.Join(r.dir, "trace-"+filepath.Base(t.binary.path)+"-"+strings.ReplaceAll(t.name, "/", "-"))
	s := stage{binary: t.binary, names: []string{t.name}, env: []string{"MUTATION_TRACE=" + trace}}
	harmless := s
	harmless.env = append(slices.Clip(s.env), "MUTATION_SCRIPTS="+filepath.Join(r.dir, "harmless"))
	begun := time.Now()
	failed, err := r.process(harmless)
	if failed != "" {
		t.exact = true
		begun = time.Now()
		failed, err = r.process(s)
	}
	if t.took = time.Since(begun); errors.Is(err, errTimeout) {
		t.took = r.longest + time.Second
		return nil
	}
	if err != nil {
		return err
	}
	if failed != "" {
		return fmt.Errorf("%s of %s fails", t.name, t.binary.pkg)
	}
	t.reach = map[int]bool{}
	content, _ := os.ReadFile(trace) // it reached none
	for line := range strings.FieldsSeq(string(content)) {
		id, _ := strconv.Atoi(line) // our own
		t.reach[id] = true
	}
	return nil
}
