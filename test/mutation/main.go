// Command mutation measures what the tests of the state machine hold. It changes one operator at a time in the Lua
// scripts and in their twins in memory, runs the suites against each change (a mutant), and reports which mutants no
// test notices.
//
//	go run ./test/mutation                     all mutants: hours
//	go run ./test/mutation -sample 60 -seed 7  a random sample
//	go run ./test/mutation -run claim          those of files whose path contains "claim"
//	go run ./test/mutation -run ack.lua:44:    those of a line
//
// Only the tests of the store count: its suite on both stores, the histories that compare them, what store/redis checks of
// the scripts alone, and the tests of Wait and Do in ratelimit. Random histories have a fixed seed, and what fails must fail twice.
//
// Each test binary is built once, from an overlay of the source tree: nothing in the tree is edited, and nothing in the
// product knows of it. The overlay holds every mutant of the Go files at once, and the environment variable
// MUTATION_ID chooses the one that is in effect; MUTATION_SCRIPTS names a directory with the text of changed scripts. A change in a
// part of the scripts changes every script that is composed with it.
//
// Mutants that no test can notice are listed in equivalent.txt with the reason, at most 10 percent of all. The command fails
// if any other mutant survives, or if a listed one no longer exists.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// composeScripts runs the composer in a copy of package lua. The composer also writes a table into docs/redis.md.
const composeScripts = "cd {src}/.. && mkdir ../docs && cp {root}/docs/redis.md ../docs && {composer} && mv *.lua {out}"

// skippedTests need several servers or processes, or draw figures: they are about those, not about what the scripts do.
const skippedTests = "^(Benchmark|Example|TestFailover|TestResharding|TestManyProcesses|TestReloadIsNoClockStep|TestTooFewReplicas|" +
	"TestCallToAServer|TestAbsent|TestErrorsOf|TestWaitBlocks|TestWorker|TestTheOracle|TestGoldenFigure)"

// mostExcused is the greatest share of the mutants that the list of equivalent ones may name.
const mostExcused = 0.1

// options are the flags.
type options struct {
	lua, golang, packages, scripts string
	src, compose                   string
	run                            string
	tests, skip, split             string
	flags                          string
	equivalent                     string
	sample, jobs                   int
	seed                           uint64
	timeout, longest               time.Duration
	list                           bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("mutation", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.lua, "lua", "lua/src/*.lua,lua/src/parts/*.lua,lua/src/parts/*/*.lua,lua/src/parts/*/*/*.lua",
		"sources of the scripts: globs, with commas")
	f.StringVar(&o.src, "src", "lua/src", "directory of the sources")
	f.StringVar(&o.golang, "go", "store/memory/*.go,ratelimit/*.go", "Go files to change: globs, with commas")
	f.StringVar(&o.packages, "packages", "./store/redis,./store/memory,./store/storetest,./ratelimit",
		"packages whose tests must notice, with commas")
	f.StringVar(&o.scripts, "scripts", "lua", "directory of the package that makes the scripts with redis.NewScript")
	f.StringVar(&o.compose, "compose", composeScripts,
		"command that composes the scripts of {src}, a copy of the directory of the sources, into {out}; {composer} is ./lua/compose")
	f.StringVar(&o.run, "run", "", "only mutants whose \"file:line: change\" contains one of these, with commas")
	f.StringVar(&o.tests, "tests", ".", "tests to run")
	f.StringVar(&o.skip, "skip", skippedTests, "tests to leave out")
	f.StringVar(&o.split, "split", "^TestStore$", "tests whose subtests count as tests of their own")
	f.StringVar(&o.flags, "flags", "-rapid.seed=1 -rapid.checks=40 -rapid.shrinktime=0s -rapid.nofailfile", "flags of the test binaries")
	f.StringVar(&o.equivalent, "equivalent", "test/mutation/equivalent.txt", "list of mutants that cannot be noticed")
	f.IntVar(&o.sample, "sample", 0, "how many mutants, drawn at random; 0: all")
	f.Uint64Var(&o.seed, "seed", 0, "another one draws another sample; 0: one by the clock, which is printed")
	f.IntVar(&o.jobs, "jobs", 2, "how many mutants at the same time")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long one test process may take; a mutant that takes longer, twice, was noticed")
	f.DurationVar(&o.longest, "longest", 15*time.Second, "tests that take longer are left out")
	f.BoolVar(&o.list, "list", false, "print the mutants, and run nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().Unix()) //nolint:gosec // it is later than 1970
	}
	for _, expression := range []string{o.tests, o.skip, o.split} {
		if _, err := regexp.Compile(expression); err != nil {
			return o, fmt.Errorf("pattern %q: %w", expression, err)
		}
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	b, err := newBuild(o, dir)
	if err != nil {
		return err
	}
	excused, err := readEquivalents(o.equivalent)
	if err != nil {
		return err
	}
	if gone := excused.gone(b.mutants); len(gone) > 0 && o.run == "" {
		return fmt.Errorf("%s lists mutants that no longer exist; remove them:\n  %s", o.equivalent, strings.Join(gone, "\n  "))
	}
	if n := excused.count(b.mutants); float64(n) > mostExcused*float64(len(b.mutants)) {
		return fmt.Errorf("%s lists %d of %d mutants, more than %.0f %%", o.equivalent, n, len(b.mutants), 100*mostExcused)
	}
	chosen := choose(b.mutants, excused, o)
	fmt.Fprintf(stdout, "%d mutants, %d of them excused; %d to run (seed %d)\n", len(b.mutants), excused.count(b.mutants), len(chosen), o.seed)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintln(stdout, m)
		}
		return nil
	}
	r, err := newRunner(ctx, o, b, dir, stdout)
	if err != nil {
		return err
	}
	results, err := r.all(chosen, stdout)
	if err != nil {
		return err
	}
	return report(stdout, results, o.equivalent)
}

// files are the paths that globs, with commas between them, match; tests are left out.
func files(globs string) ([]string, error) {
	var all []string
	for glob := range strings.SplitSeq(globs, ",") {
		if glob == "" {
			continue
		}
		matches, err := filepath.Glob(glob)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", glob, err)
		}
		if len(matches) == 0 {
			return nil, fmt.Errorf("no file matches %q", glob)
		}
		for _, match := range matches {
			if !strings.HasSuffix(match, "_test.go") {
				all = append(all, match)
			}
		}
	}
	return all, nil
}
