package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slackrelay/lua"
)

// learnFailure remembers why the last call that failed did.
func (o *outage) learnFailure(err error) {
	if lua.FaultOf(err) != "" {
		o.failure.Store(&err)
	}
}

// why is the error of the last call that failed; nil = none did yet.
func (o *outage) why() error {
	if failure := o.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

// because says in an error why Redis does not serve.
func (o *outage) because(err error) error {
	if why := o.why(); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	return err
}

// How a channel that falls again and again comes back: a Redis that refuses an admission may take what the way back writes,
// and refuse the next admission.
const (
	relapseWithin = time.Minute
	maxRelapses   = 4
)

// countRelapse notes whether this outage follows close upon another of a Redis that answers. The caller holds mu.
func (o *outage) countRelapse() {
	if lua.FaultOf(o.why()).Refused() && !o.back.IsZero() && o.since.Sub(o.back) < relapseWithin {
		o.relapses.Store(min(o.relapses.Load()+1, maxRelapses))
		return
	}
	o.relapses.Store(0)
}

// probeEvery is how long to wait before Redis is tried: twice as long with each relapse, 8 s at most by default.
func (o *outage) probeEvery(every time.Duration) time.Duration { return every << o.relapses.Load() }

// roomShare is the share of maxmemory that must be free for the way back to a Redis that was full: what comes back and fills
// it with the next admission is no gain.
const roomShare = 20

// errFull is a Redis that takes the next admission, and hardly more.
var errFull = errors.New("too little of maxmemory is free")

// roomy tells whether a Redis that had no memory left has some again, on the server of the channel.
func (ch *channel) roomy(ctx context.Context) error {
	if lua.FaultOf(ch.outage.why()) != lua.FaultMemory {
		return nil
	}
	used, most, err := ch.engine.Memory(ctx, ch.scope)
	if err != nil {
		return err
	}
	if most > 0 && used > most-most/roomShare {
		return fmt.Errorf("%w: %d of %d bytes are used", errFull, used, most)
	}
	return nil
}

// tellFault logs that the shared state is not served, and why, once for each reason, and that it is again.
func (s *Limiter) tellFault(ctx context.Context, before lua.Fault, err error) lua.Fault {
	fault := lua.FaultOf(err)
	switch {
	case err != nil && fault == "":
		s.opts.Logger.DebugContext(ctx, "no heartbeat", "error", err)
		return before
	case fault == before:
	case fault == "":
		s.opts.Logger.InfoContext(ctx, "redis available again")
	default:
		s.opts.Logger.WarnContext(ctx, "redis unavailable", "kind", string(fault), "why", lua.Describe(err), "error", err)
	}
	return fault
}
