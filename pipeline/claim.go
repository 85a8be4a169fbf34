package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// maxSleep is the longest wait after which a channel goes on by itself. After a longer one the store says that it is due.
const maxSleep = 2 * time.Second

// untilDue is a longer wait: nothing is left that is due by now.
const untilDue = time.Duration(math.MaxInt64)

// delivery delivers the entries of one channel, until nothing is left that is due soon.
type delivery struct {
	*Courier
	memory
	channel   *Channel
	key       store.Channel
	terms     store.Terms
	workspace string         // of the credential; "" = it is not shared
	perMinute notifier.Rates // of the workspace
	log       *slog.Logger
	wake      <-chan struct{} // has a value after a wake-up
	claimed   *store.Claim    // with the acknowledgement of the entry before; nil = none
	leased    bool            // this sender may have the lease
	looked    func()          // is called after each claim
	refusal   string          // why the last call could not be reserved
}

func newDelivery(c *Courier, ch *Channel, looked func()) *delivery {
	d := &delivery{
		Courier: c, memory: c.memories.take(ch.Name), channel: ch, key: ch.Scope(), log: c.opts.Logger.With("channel", ch.Name),
		looked: looked, wake: c.deliveries.woken(ch.Name),
	}
	d.terms = store.Terms{Pace: ch.Pace, TTL: ch.TTL, Digest: ch.Digest, Backlog: ch.backlog()}
	if shared, ok := ch.Sender.(notifier.Workspace); ok && c.opts.Budget != nil {
		d.workspace = shared.Workspace()
		d.perMinute = shared.PerMinute()
	}
	if _, ok := ch.Sender.(notifier.Editor); !ok {
		d.terms.Digest.EditEvery = 0
	}
	return d
}

// run delivers until nothing is left that is due soon, or ctx ends.
func (d *delivery) run(ctx context.Context, woken bool) {
	for {
		wait := untilDue
		if ctx.Err() == nil || d.claimed != nil && d.claimed.State.HasEntry() { // an entry in flight is finished
			wait = d.next(ctx, d.claimed == nil && d.wasWoken() || woken)
		}
		woken = false
		switch {
		case wait == 0:
		case wait <= maxSleep:
			select {
			case <-ctx.Done():
			case <-d.wake:
				woken = true
			case <-time.After(wait):
			}
		case d.leave(ctx):
			return
		default:
			woken = true
		}
	}
}

// wasWoken reports whether the channel was woken since the last look, and forgets it: call it right before a claim, which
// finds what was queued by then.
func (d *delivery) wasWoken() bool {
	select {
	case <-d.wake:
		return true
	default:
		return false
	}
}

// leave ends the run, unless the channel was woken meanwhile. The lease is given up, so that any replica can go on.
func (d *delivery) leave(ctx context.Context) bool {
	if d.leased {
		d.release(ctx)
	}
	d.memories.save(d.channel.Name, d.memory)
	if d.deliveries.leave(ctx, d.channel.Name) {
		return true
	}
	d.memory = d.memories.take(d.channel.Name)
	return false
}

// release gives up the lease, so that another replica does not wait until it ends.
func (d *delivery) release(ctx context.Context) {
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := d.opts.Outbox.Release(ctx, d.key); err != nil {
		d.log.WarnContext(ctx, "could not give up the lease; another replica continues when it ends", "error", err)
	}
	d.leased = false
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
		return untilDue
	case store.DigestDue:
		return d.queueDigest(ctx)
	case store.PostReady:
		return d.reserveCall(ctx, store.MethodPost)
	case store.EditReady:
		return d.reserveCall(ctx, store.MethodUpdate)
	case store.Stale:
		d.expire(ctx, claim.Entry)
		return 0
	case store.Claimed:
		d.deliver(ctx, &claim)
		return 0
	default:
		return claim.Wait
	}
}

// claimNext claims the next entry, unless the last acknowledgement did. After a wake-up there is likely something to post: the
// call of Slack for it is reserved at the same time. Otherwise the outbox is only looked at first, so that an idle channel
// reserves nothing.
func (d *delivery) claimNext(ctx context.Context, woken bool) (store.Claim, error) {
	if claimed := d.claimed; claimed != nil {
		d.claimed = nil
		return *claimed, nil
	}
	if !woken || d.hasCall(store.MethodPost) || time.Now().Before(d.exhausted) {
		return d.claim(ctx, d.mustLook())
	}
	var reserving sync.WaitGroup
	reserving.Go(func() { d.reserveCall(ctx, store.MethodPost) })
	claim, err := d.claim(ctx, false)
	reserving.Wait()
	return claim, err
}

// mustLook reports whether nothing can be posted or edited before a call is reserved.
func (d *delivery) mustLook() bool {
	return !d.hasCall(store.MethodPost) && !d.hasCall(store.MethodUpdate)
}

func (d *delivery) claim(ctx context.Context, look bool) (store.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	claim, err := d.opts.Outbox.Claim(ctx, d.key, d.currentTerms(), look)
	d.looked()
	d.noteClaim(ctx, claim, err)
	return claim, err
}

// currentTerms returns the terms of a claim now.
func (d *delivery) currentTerms() store.Terms {
	terms := d.terms
	if d.canLookUp() {
		terms.LookupDelay = d.opts.LookupDelay
	}
	return terms
}

// noteClaim notes whether this sender may have the lease, and whether the outbox is available.
func (d *delivery) noteClaim(ctx context.Context, claim store.Claim, err error) {
	d.leased = err != nil || claim.State.HasEntry() || d.leased && claim.State != store.Empty
	switch {
	case err != nil && !d.unavailable && !errors.Is(err, context.Canceled):
		d.log.ErrorContext(ctx, outboxUnavailable, "why", store.Describe(err), "error", err)
		d.unavailable = true
	case err == nil && d.unavailable:
		d.log.InfoContext(ctx, outboxAvailable)
		d.unavailable = false
	}
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
