package pipeline

import (
	"context"
	"sync"
)

// runFunc does what a channel has to do. woken means that something was queued for the channel just now. The function calls
// looked as soon as it knows whether there was anything. Before it returns, leave must have returned true.
type runFunc func(channel string, woken bool, looked func())

// channelRuns gives a channel a goroutine while it has something to do, and none otherwise. A channel has one at most.
type channelRuns struct {
	mu      sync.Mutex
	run     runFunc                  // nil = nothing may run now
	running map[string]chan struct{} // a channel that is woken during its run has a value
	early   map[string]bool          // channels that were woken while nothing may run
	all     sync.WaitGroup
}

// open runs the channels that were woken so far, and lets others run until the function that it returns is called. That one
// waits for the end of all runs; run must end on its own by then.
func (r *channelRuns) open(run runFunc) (closeAndWait func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run = run
	r.running = map[string]chan struct{}{}
	for channel := range r.early {
		r.begin(channel, true, func() {})
	}
	r.early = nil
	return func() {
		r.mu.Lock()
		r.run = nil
		r.mu.Unlock()
		r.all.Wait()
	}
}

// begin starts a run. The caller holds mu.
func (r *channelRuns) begin(channel string, woken bool, looked func()) {
	r.running[channel] = make(chan struct{}, 1)
	run := r.run
	r.all.Go(func() { run(channel, woken, looked) })
}

// start runs a channel, and reports whether it did: not where the channel runs already, or nothing may run.
func (r *channelRuns) start(channel string, looked func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.running[channel]; ok || r.run == nil {
		return false
	}
	r.begin(channel, false, looked)
	return true
}

// wake runs a channel, or makes its run look once more. Where nothing may run yet, the channel runs as soon as it may.
func (r *channelRuns) wake(channel string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wake, ok := r.running[channel]
	switch {
	case ok:
		select {
		case wake <- struct{}{}:
		default: // it is awake already
		}
	case r.run != nil:
		r.begin(channel, true, func() {})
	case r.early == nil:
		r.early = map[string]bool{channel: true}
	default:
		r.early[channel] = true
	}
}

// woken receives a value when the channel, which runs, is woken.
func (r *channelRuns) woken(channel string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[channel]
}

// leave ends the run of a channel, unless the channel was woken meanwhile and ctx goes on: it must look once more then.
func (r *channelRuns) leave(ctx context.Context, channel string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.running[channel]:
		if ctx.Err() == nil {
			return false
		}
	default:
	}
	delete(r.running, channel)
	return true
}
