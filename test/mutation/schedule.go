package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// all runs the mutants, and prints each when its fate is known.
func (r *runner) all(mutants []mutant, out io.Writer) ([]result, error) {
	results, errs := make([]result, len(mutants)), make([]error, len(mutants))
	var mu sync.Mutex
	done, noticed := 0, 0
	r.parallel(len(mutants), func(i int) {
		begun := time.Now()
		results[i], errs[i] = r.one(mutants[i])
		results[i].took = time.Since(begun)
		mu.Lock()
		defer mu.Unlock()
		if errs[i] != nil {
			return
		}
		done++
		if results[i].fate != survived {
			noticed++
		}
		fmt.Fprintf(out, "%4d/%d %5.1f %%  %-9s %5.1f s  %s:%d  %s  %s\n", done, len(mutants), 100*float64(noticed)/float64(done),
			results[i].fate, results[i].took.Seconds(), mutants[i].file, mutants[i].line, mutants[i].label(), results[i].by)
	})
	if r.ctx.Err() != nil {
		return nil, fmt.Errorf("stopped after %d of %d mutants", done, len(mutants))
	}
	return results, errors.Join(errs...)
}

// one runs the tests against a mutant, the likeliest to notice it first, until one does.
func (r *runner) one(m mutant) (result, error) {
	env := []string{"MUTATION_ID=" + strconv.Itoa(m.id)}
	if m.id == 0 {
		dir := filepath.Join(r.dir, fmt.Sprintf("scripts-%x-%d", m.file, m.offset))
		if err := r.composer.write(m, dir); err != nil {
			return result{mutant: m}, err
		}
		env = append(env, "MUTATION_SCRIPTS="+dir)
	}
	for _, s := range r.stages(m) {
		s.env = env
		fate, by, err := r.confirmed(s)
		if err != nil {
			return result{mutant: m}, err
		}
		if fate != survived {
			r.killers.add(m.file, s.binary.path, nameOf(by, s.names))
			return result{mutant: m, fate: fate, by: by}, nil
		}
	}
	return result{mutant: m, fate: survived}, nil
}

// confirmed runs tests. What fails is run again by itself, with the mutant, and must fail again: so neither a busy machine
// nor a test that fails now and then counts.
func (r *runner) confirmed(s stage) (fate fate, by string, err error) {
	failed, err := r.process(s)
	if failed == "" && err == nil {
		return survived, "", nil
	}
	again := s
	if name := nameOf(failed, s.names); name != "" {
		again.names = []string{name}
	}
	if err == nil || errors.Is(err, errTimeout) {
		failed, err = r.process(again)
	}
	switch {
	case errors.Is(err, errTimeout):
		return timedOut, s.names[0], nil
	case err != nil || failed == "":
		return survived, "", err
	default:
		return killed, failed, nil
	}
}

// killers counts which tests noticed the mutants of a file. Its zero value is ready to use.
type killers struct {
	mu    sync.Mutex
	count map[[3]string]int
}

// add counts a mutant of a file that a test of a binary noticed; "" for a test is ignored.
func (k *killers) add(file, binary, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.count == nil {
		k.count = map[[3]string]int{}
	}
	if name != "" {
		k.count[[3]string{file, binary, name}]++
	}
}

// of is how many mutants of a file a test noticed.
func (k *killers) of(file string, t test) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.count[[3]string{file, t.binary.path, t.name}]
}

const (
	together = 4 * time.Second // that the tests of one process take at most, each measured by itself
	likely   = 3               // how many tests that noticed mutants of the same file are tried first
)

// stages are the tests that can notice a mutant: first those that noticed most mutants of its file, then all others, the
// quickest first, those of a package together as long as they take little time.
func (r *runner) stages(m mutant) []stage {
	tests := slices.DeleteFunc(slices.Clone(r.tests), func(t test) bool {
		return m.id != 0 && !t.reach[m.id] || m.id == 0 && t.exact
	})
	noticed := map[string]int{}
	for _, t := range tests {
		noticed[t.binary.path+t.name] = r.killers.of(m.file, t)
	}
	score := func(t test) int { return noticed[t.binary.path+t.name] }
	best := slices.DeleteFunc(slices.Clone(tests), func(t test) bool { return score(t) == 0 || t.took > together })
	slices.SortStableFunc(best, func(a, b test) int { return cmp.Compare(score(b), score(a)) })
	best = best[:min(len(best), likely)]
	rest := slices.DeleteFunc(tests, func(t test) bool {
		return slices.ContainsFunc(best, func(b test) bool { return b.binary == t.binary && b.name == t.name })
	})
	return append(grouped(best), grouped(rest)...)
}

// grouped are processes for tests: those of a package share one as long as they take little time. A process runs subtests
// of one test only.
func grouped(tests []test) (all []stage) {
	type open struct {
		place int
		took  time.Duration
	}
	current := map[string]open{}
	for _, t := range tests {
		parent, _, isSubtest := strings.Cut(t.name, "/")
		if !isSubtest {
			parent = ""
		}
		key := t.binary.path + "/" + parent
		o, ok := current[key]
		if !ok || o.took+t.took > together {
			all = append(all, stage{binary: t.binary})
			o = open{place: len(all) - 1}
		}
		all[o.place].names = append(all[o.place].names, t.name)
		o.took += t.took
		current[key] = o
	}
	return all
}
