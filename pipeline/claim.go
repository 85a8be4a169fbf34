package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// delivery delivers the entries of one channel.
type delivery struct {
	*Courier
	channel     Channel
	key         store.Channel
	terms       store.Terms
	workspace   string // of the credential; "" = it is not shared
	log         *slog.Logger
	unavailable bool                 // the last call of the outbox failed
	blindUntil  time.Time            // until then, lookups are not tried again: Slack refused the last one
	reserved    map[string]time.Time // calls that were reserved, by method, and until when they may be made
	exhausted   time.Time            // until then, no post can be reserved
	refusal     string               // why the last call could not be reserved
}

func newDelivery(c *Courier, ch Channel) *delivery {
	d := &delivery{Courier: c, channel: ch, key: ch.Scope(), log: c.opts.Logger.With("channel", ch.Name), reserved: map[string]time.Time{}}
	d.terms = store.Terms{Pace: ch.Pace, TTL: ch.TTL, Digest: ch.Digest, Backlog: ch.backlog()}
	if shared, ok := ch.Sender.(notifier.Workspace); ok && c.opts.Budget != nil {
		d.workspace = shared.Workspace()
	}
	if _, ok := ch.Sender.(notifier.Editor); !ok {
		d.terms.Digest.EditEvery = 0
	}
	return d
}

// run delivers until ctx ends, and gives up the lease then.
func (d *delivery) run(ctx context.Context) {
	defer d.release(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		woken := false
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-d.wakes[d.channel.Name]:
			woken = true
		}
		if ctx.Err() != nil {
			return // a select picks any case that is ready
		}
		timer.Reset(d.next(ctx, woken))
	}
}

// release gives up the lease, so that another replica does not wait until it ends.
func (d *delivery) release(ctx context.Context) {
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := d.opts.Outbox.Release(ctx, d.key); err != nil {
		d.log.WarnContext(ctx, "could not give up the lease; another replica continues when it ends", "error", err)
	}
}

// next claims and handles the next entry of the channel, and returns how long to wait before the next call. The pace is
// kept by the claim.
func (d *delivery) next(ctx context.Context, woken bool) time.Duration {
	claim, err := d.claimNext(ctx, woken)
	if err != nil {
		return d.poll()
	}
	switch claim.State {
	case store.Empty:
		return d.poll()
	case store.DigestDue:
		return d.queueDigest(ctx)
	case store.PostReady:
		return min(d.reserveCall(ctx, store.MethodPost), d.poll())
	case store.EditReady:
		return min(d.reserveCall(ctx, store.MethodUpdate), d.poll())
	case store.Stale:
		d.expire(ctx, claim.Entry)
		return 0
	case store.Claimed:
		d.deliver(ctx, &claim)
		return 0
	default:
		return min(claim.Wait, d.poll())
	}
}

// claimNext claims the next entry. After a wake-up there is likely something to post: the call of Slack for it is reserved
// at the same time. Otherwise the outbox is only looked at first, so that an idle channel reserves nothing.
func (d *delivery) claimNext(ctx context.Context, woken bool) (store.Claim, error) {
	if !woken || d.hasCall(store.MethodPost) || time.Now().Before(d.exhausted) {
		return d.claim(ctx, !d.hasCall(store.MethodPost) && !d.hasCall(store.MethodUpdate))
	}
	var reserving sync.WaitGroup
	reserving.Go(func() { d.reserveCall(ctx, store.MethodPost) })
	claim, err := d.claim(ctx, false)
	reserving.Wait()
	return claim, err
}

func (d *delivery) claim(ctx context.Context, look bool) (store.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	d.terms.LookupDelay = 0
	if d.canLookUp() {
		d.terms.LookupDelay = d.opts.LookupDelay
	}
	claim, err := d.opts.Outbox.Claim(ctx, d.key, d.terms, look)
	switch {
	case err != nil && !d.unavailable && !errors.Is(err, context.Canceled):
		d.log.ErrorContext(ctx, "outbox unavailable; sending stops until it is available", "why", store.Describe(err), "error", err)
		d.unavailable = true
	case err == nil && d.unavailable:
		d.log.InfoContext(ctx, "outbox available again")
		d.unavailable = false
	}
	return claim, err
}

// lanePollFactor makes lanes poll less often: they are mostly empty, and woken by what this replica admits.
const lanePollFactor = 8

// poll returns the time until the next look, with jitter, so that replicas do not look in step.
func (d *delivery) poll() time.Duration {
	every := d.opts.Poll
	if isLane(d.channel.Name) {
		every *= lanePollFactor
	}
	return every - rand.N(every/2) //nolint:gosec // jitter is no secret
}

// queueDigest has a digest queued, and returns how long to wait before the next claim.
func (d *delivery) queueDigest(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := d.opts.Outbox.Digest(ctx, d.key, d.terms.Digest); err != nil {
		d.log.WarnContext(ctx, "digest could not be queued; trying again", "error", err)
		return d.poll()
	}
	return 0
}
