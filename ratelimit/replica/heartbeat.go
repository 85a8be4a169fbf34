package replica

import (
	"context"
	"fmt"
	"math/rand/v2"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Run announces this process to the other replicas every [Options].Heartbeat, until ctx ends. It logs when the store becomes
// unavailable and when it is back; what that means for each channel is logged by the channel.
func (l *Limiter) Run(ctx context.Context) {
	var fault lua.Fault
	for {
		fault = l.logFault(ctx, fault, l.sendHeartbeat(ctx))
		if ratelimit.Sleep(ctx, l.opts.Heartbeat-rand.N(l.opts.Heartbeat/4)) != nil { //nolint:gosec // jitter is no secret
			return
		}
	}
}

// logFault logs why the store is unavailable, once for each reason, and that it is available again. It returns the reason
// that was logged last.
func (l *Limiter) logFault(ctx context.Context, before lua.Fault, err error) lua.Fault {
	fault := lua.FaultOf(err)
	switch {
	case err != nil && fault == "":
		l.opts.Logger.DebugContext(ctx, "no heartbeat", "error", err)
		return before
	case fault == before:
	case fault == "":
		l.opts.Logger.InfoContext(ctx, "redis available again")
	default:
		l.opts.Logger.WarnContext(ctx, "redis unavailable", "kind", string(fault), "why", lua.Describe(err), "error", err)
	}
	return fault
}

// sendHeartbeat announces this process and its windows, and learns how many replicas are alive, and their windows.
func (l *Limiter) sendHeartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	reply, err := l.exchangeWindows(ctx)
	if err != nil {
		return err
	}
	ended := l.alive.Swap(reply.Alive) > reply.Alive
	l.reached.Store(true)
	before, _ := l.epoch.Swap(reply.Epoch).(string)
	lost := before != "" && before != reply.Epoch
	if lost {
		l.forgetState(ctx)
	}
	if ended || lost {
		l.opts.Recheck()
	}
	return nil
}

// exchangeWindows sends heartbeats until the store has the text of this process's windows.
func (l *Limiter) exchangeWindows(ctx context.Context) (store.HeartbeatReply, error) {
	for {
		beat := l.peers.heartbeat(l.opts.heartbeat())
		reply, err := l.store.Heartbeat(ctx, beat)
		if err != nil {
			return store.HeartbeatReply{}, err
		}
		l.peers.receive(beat, reply)
		if !reply.TextMissing {
			return reply, nil
		}
	}
}

// awaitFirstHeartbeat makes sure, before this process admits anything, that the other replicas know its windows, and it
// knows theirs. Of several callers one sends the heartbeat.
func (l *Limiter) awaitFirstHeartbeat(ctx context.Context) error {
	if !l.peers.unannounced.Load() {
		return nil
	}
	select {
	case l.peers.announcing <- struct{}{}:
		defer func() { <-l.peers.announcing }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w: wait for the first heartbeat: %w", ratelimit.ErrUnavailable, store.ErrNotSent, ctx.Err())
	}
	if !l.peers.unannounced.Load() {
		return nil
	}
	return l.sendHeartbeat(ctx)
}

// forgetState forgets what this process knew of data that the store lost.
func (l *Limiter) forgetState(ctx context.Context) {
	l.stateLost.Add(1)
	for _, ch := range l.allChannels() {
		ch.closed.clear()
		ch.recent.clear()
	}
	l.opts.Logger.ErrorContext(ctx, "redis lost its data: messages that were admitted and not yet posted are lost, and counters "+
		"restart from zero, so up to one extra limit can be admitted within a window")
}

// sendFarewell announces that this process ends, so that the others need not wait until its heartbeat expires.
func (l *Limiter) sendFarewell(ctx context.Context) {
	beat := l.opts.heartbeat()
	beat.Ended = true
	if _, err := l.store.Heartbeat(ctx, beat); err != nil {
		l.opts.Logger.DebugContext(ctx, "the other replicas notice a little later that this one ended", "error", err)
	}
}
