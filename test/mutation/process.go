package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

var errTimeout = errors.New("it takes too long")

// process runs tests in one process, up to the first that fails, whose name it returns.
func (r *runner) process(s stage) (failed string, err error) {
	work, err := os.MkdirTemp(r.dir, "run")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	args := append([]string{"-test.v", "-test.failfast", "-test.run", pattern(s.names)}, strings.Fields(r.flags)...)
	command := exec.CommandContext(ctx, s.binary.path, args...) //nolint:gosec // built just now
	command.Dir = s.binary.pkg
	command.Env = append(append(os.Environ(), "TMPDIR="+work, "SOAK_DECISIONS=1"), s.env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its servers end with it
	kill := func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.Cancel = kill
	out, in := io.Pipe()
	command.Stdout, command.Stderr = in, in
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("run %s: %w", s.binary.path, err)
	}
	found := make(chan string)
	go func() { found <- firstFailure(out, kill) }()
	err = command.Wait()
	in.Close()
	failed = <-found
	_ = kill() // what it left behind, if anything
	switch {
	case r.ctx.Err() != nil:
		return "", r.ctx.Err()
	case failed != "":
		return failed, nil
	case ctx.Err() != nil:
		return "", errTimeout
	case err != nil:
		return "the process", nil // it ended before any test could fail
	default:
		return "", nil
	}
}

var (
	// running is the test whose output follows.
	running = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S+)`)
	// failure is what a test prints when it fails: an assertion and a random history at once, the framework only when the
	// test and all that contains it have ended.
	failure = regexp.MustCompile(`^\s*Error Trace:|\[rapid\] (?:failed|panic|flaky)|^panic: |^\s*--- FAIL: (\S+)`)
)

// firstFailure reads the output of tests to its end, and returns the name of the test or subtest that fails first. Once that
// is known it ends them.
func firstFailure(out io.Reader, kill func() error) (name string) {
	lines, current, isEnded := bufio.NewReader(out), "the process", false
	for {
		line, err := lines.ReadString('\n')
		if match := running.FindStringSubmatch(line); match != nil {
			current = match[1]
		}
		match := failure.FindStringSubmatch(line)
		isFramework := match != nil && match[1] != "" // which names a test before its subtests
		switch {
		case isEnded:
		case isFramework && (name == "" || strings.HasPrefix(match[1], name+"/")):
			name = match[1]
		case match != nil && name == "":
			name = current
		}
		if name != "" && !isFramework && !isEnded {
			isEnded = true
			_ = kill() // it may have ended
		}
		if err != nil {
			return name
		}
	}
}

// nameOf returns the name, of those given, of the test that a subtest is part of; "" if it is part of none.
func nameOf(failed string, names []string) string {
	for _, name := range names {
		if failed == name || strings.HasPrefix(failed, name+"/") {
			return name
		}
	}
	return ""
}
