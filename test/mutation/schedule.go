package main

import (
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

// all runs the mutants, and prints those that survive as they are found.
func (r *runner) all(mutants []mutant, out io.Writer) ([]result, error) {
	results, errs := make([]result, len(mutants)), make([]error, len(mutants))
	var mu sync.Mutex
	done := 0
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
		fmt.Fprintf(out, "%4d/%d %-9s %5.1f s  %s:%d  %s  %s\n", done, len(mutants), results[i].fate, results[i].took.Seconds(),
			mutants[i].file, mutants[i].line, mutants[i].label(), results[i].by)
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
		if r.ctx.Err() != nil {
			return result{}, r.ctx.Err()
		}
		s.env = append(slices.Clip(s.env), env...)
		failed, err := r.process(s)
		switch {
		case errors.Is(err, errTimeout):
			return result{mutant: m, fate: timedOut, by: s.names[0]}, nil
		case err != nil:
			return result{mutant: m}, err
		case failed != "" && !r.flaky(s, failed):
			return result{mutant: m, fate: killed, by: failed}, nil
		}
	}
	return result{mutant: m, fate: survived}, nil
}

// flaky tells whether a test fails without the mutant, too, as on a machine that is busy.
func (r *runner) flaky(s stage, name string) bool {
	if !slices.Contains(s.names, name) {
		return false // the process itself ended
	}
	failed, err := r.process(stage{binary: s.binary, names: []string{name}, flags: s.flags})
	return failed != "" || err != nil
}

// together is how long the tests of one process take by themselves.
const together = 4 * time.Second

// stages are the tests that can notice a mutant: first those that notice most with few repetitions, then all, the
// quickest first, those of a package together as long as they take little time.
func (r *runner) stages(m mutant) []stage {
	var all []stage
	if m.id == 0 || r.reach[m.id] {
		all = slices.Clone(r.first)
	}
	type open struct {
		place int
		took  time.Duration
	}
	current := map[string]open{}
	for _, t := range r.tests {
		if m.id != 0 && !t.reach[m.id] || m.id == 0 && t.exact {
			continue
		}
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
