package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is a program that runs beside this one.
type process struct {
	cmd    *exec.Cmd
	log    string // path of what it printed
	exited chan struct{}
}

// startProcess starts a program with these variables and nothing else in its environment. name is unique in dir.
func startProcess(ctx context.Context, dir, name string, env []string, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, path, args...), log: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	output, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	defer output.Close()
	p.cmd.Env = env
	p.cmd.Stdout = output
	p.cmd.Stderr = output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // it ends by a signal
	}()
	return p, nil
}

// await asks until an answer is true. It fails when the process ends or after the time.
func (p *process) await(ctx context.Context, what string, within time.Duration, answer func() bool) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(within)
	for !answer() {
		select {
		case <-ticker.C:
			continue
		case <-ctx.Done():
			return ctx.Err()
		case <-p.exited:
		case <-late:
		}
		printed, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s: not within %s:\n%s", what, within, lastLines(string(printed), 10))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// kill ends the process at once, as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// clockTicks is in how many parts of a second Linux counts the time of a process.
const clockTicks = 100

// cpu returns how long the process has computed.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // after the name of the program
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("processor time: %q has too few fields", stat)
	}
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	if userErr != nil || systemErr != nil {
		return 0, fmt.Errorf("processor time: %q is not a number", fields[11:13])
	}
	return time.Duration(user+system) * time.Second / clockTicks, nil
}

// machineCPU returns how long all processes of this machine have computed.
func machineCPU() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	var user, nice, system int
	if _, err := fmt.Sscanf(string(stat), "cpu %d %d %d", &user, &nice, &system); err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	return time.Duration(user+nice+system) * time.Second / clockTicks, nil
}

// resident returns the resident memory of the process in MiB.
func (p *process) resident() (float64, error) {
	status, err := os.ReadFile(p.proc("status"))
	if err != nil {
		return 0, fmt.Errorf("resident memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024, nil
		}
	}
	return 0, fmt.Errorf("resident memory: no VmRSS in %s", p.proc("status"))
}

func (p *process) proc(file string) string {
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), file)
}

// freeAddress returns an address of the loopback interface on which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
