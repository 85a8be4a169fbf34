package outbox

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua/memstore"
)

// Memory is the engine of a single process without Redis. It shares its Store with the in-memory limiter,
// and follows the scripts step by step. The waits it answers are in wall time.
type Memory struct {
	store *memstore.Store
	opts  Options
}

var _ Outbox = (*Memory)(nil)

// NewMemory makes a Memory engine.
func NewMemory(store *memstore.Store, opts Options) *Memory {
	return &Memory{store: store, opts: opts.WithDefaults()}
}

type lease struct {
	owner   string
	until   int64
	inHand  int64 // the entry that was claimed and not settled yet
	stopped bool  // nothing is claimed: see TakeBack
}

// pacing is when the bucket of the channel's pace is empty again.
type pacing struct{ emptyAt int64 }

type deadLetter struct {
	entry memstore.Entry
	death Death
}

type deadLetters struct{ letters []deadLetter }

// Claim implements [Outbox].
func (m *Memory) Claim(_ context.Context, channel Channel, pace Pace) (Claim, error) {
	if pace.Every < 0 || pace.Burst < 1 {
		return Claim{}, fmt.Errorf("claim from channel %s: pace of 0 or more and burst of 1 or more are needed", channel.Name)
	}
	before := time.Now()
	var claim Claim
	m.store.Do(func(tx *memstore.Tx) { claim = m.claim(tx, channel, pace) })
	claim.Wait = m.store.Wall(claim.Wait)
	if claim.State == Claimed {
		claim.Until = before.Add(m.store.Wall(m.opts.Lease))
	}
	return claim, nil
}

func (m *Memory) claim(tx *memstore.Tx, channel Channel, pace Pace) Claim {
	k := channel.keys()
	held := memstore.Value[lease](tx, k.Lease())
	head := memstore.Look[memstore.Outbox](tx, k.Outbox()).Head()
	if head == nil {
		m.giveUp(held)
		return Claim{State: Empty}
	}
	if held.stopped {
		return Claim{State: Held, Wait: stoppedFor}
	}
	if held.owner != "" && held.owner != m.opts.Owner && held.until > tx.Now {
		return Claim{State: Held, Wait: micros(held.until - tx.Now)}
	}
	if pause := memstore.Look[memstore.Pause](tx, k.Pause()); pause != nil && pause.Until > tx.Now {
		m.giveUp(held)
		return Claim{State: Paused, Wait: micros(pause.Until - tx.Now)}
	}
	bucket, every := memstore.Value[pacing](tx, k.Pace()), pace.Every.Microseconds()*m.opts.paceFactor()
	emptyAt := max(tx.Now, bucket.emptyAt)
	if allowedAt := emptyAt - (pace.Burst-1)*every; allowedAt > tx.Now {
		return Claim{State: Paced, Wait: micros(allowedAt - tx.Now)}
	}
	bucket.emptyAt = emptyAt + every
	held.owner, held.until, held.inHand = m.opts.Owner, tx.Now+m.opts.Lease.Microseconds(), head.Number
	head.Attempts++
	return Claim{State: Claimed, Entry: Entry{
		Number: head.Number, Kind: head.Kind, Payload: head.Payload,
		Attempts: head.Attempts - 1, Faults: head.Faults, Age: micros(tx.Now - head.At),
	}}
}

// Ack implements [Outbox].
func (m *Memory) Ack(_ context.Context, channel Channel, number int64) error {
	return m.settle("ack", channel, func(tx *memstore.Tx, _ *lease) {
		if _, ok := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Remove(number); ok {
			memstore.Value[memstore.Counts](tx, channel.keys().Ledger()).Add("delivered", 1)
			memstore.Look[memstore.Backlog](tx, channel.Backlog).Leave(number)
		}
	})
}

// Retry implements [Outbox].
func (m *Memory) Retry(_ context.Context, channel Channel, number int64, p Pausing) error {
	return m.settle("retry", channel, func(tx *memstore.Tx, held *lease) {
		m.giveUp(held)
		entry := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Find(number)
		if entry == nil {
			return
		}
		if p.Fault {
			entry.Faults++
		}
		pause, until := memstore.Value[memstore.Pause](tx, channel.keys().Pause()), tx.Now+p.Wait.Microseconds()
		if until > max(tx.Now, pause.Until) {
			pause.Until, pause.Reason = until, p.Reason
			tx.Expire(channel.keys().Pause(), p.Wait+time.Second)
		}
	})
}

// Bury implements [Outbox].
func (m *Memory) Bury(_ context.Context, channel Channel, number int64, death Death) error {
	return m.settle("bury", channel, func(tx *memstore.Tx, _ *lease) {
		entry, ok := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Remove(number)
		if !ok {
			return
		}
		dead := memstore.Value[deadLetters](tx, channel.keys().Dead())
		dead.letters = append(dead.letters, deadLetter{entry, death})
		if over := len(dead.letters) - int(m.opts.DeadLetters); over > 0 {
			dead.letters = dead.letters[over:]
		}
		memstore.Value[memstore.Counts](tx, channel.keys().Ledger()).Add("failed", 1)
		memstore.Look[memstore.Backlog](tx, channel.Backlog).Leave(number)
	})
}

// Release implements [Outbox].
func (m *Memory) Release(_ context.Context, channel Channel) error {
	m.store.Do(func(tx *memstore.Tx) { m.giveUp(memstore.Value[lease](tx, channel.keys().Lease())) })
	return nil
}

// settle runs f unless another sender holds the lease.
func (m *Memory) settle(verb string, channel Channel, f func(tx *memstore.Tx, held *lease)) error {
	var lost bool
	m.store.Do(func(tx *memstore.Tx) {
		held := memstore.Value[lease](tx, channel.keys().Lease())
		if lost = held.owner != "" && held.owner != m.opts.Owner && held.until > tx.Now; lost {
			return
		}
		held.inHand = 0
		f(tx, held)
	})
	if lost {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, ErrLeaseLost)
	}
	return nil
}

func (m *Memory) giveUp(held *lease) {
	if held.owner == m.opts.Owner {
		*held = lease{stopped: held.stopped}
	}
}

// How long claims and TakeBack wait before they look again.
const (
	stoppedFor = 50 * time.Millisecond
	inHandFor  = 5 * time.Millisecond
)

// TakeBack stops claims from a channel, waits until what was claimed is settled, and removes what is left,
// dead letters included. It returns their numbers. Resume lets claims go on.
func (m *Memory) TakeBack(ctx context.Context, channel Channel) ([]int64, error) {
	for {
		numbers, done := m.takeBack(channel)
		if done {
			return numbers, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for what is being sent from channel %s: %w", channel.Name, ctx.Err())
		case <-time.After(inHandFor):
		}
	}
}

func (m *Memory) takeBack(channel Channel) (numbers []int64, done bool) {
	k := channel.keys()
	m.store.Do(func(tx *memstore.Tx) {
		held := memstore.Value[lease](tx, k.Lease())
		held.stopped = true
		if held.inHand != 0 && held.until > tx.Now {
			return
		}
		done = true
		if dead := memstore.Look[deadLetters](tx, k.Dead()); dead != nil {
			for _, letter := range dead.letters {
				numbers = append(numbers, letter.entry.Number)
			}
			dead.letters = nil
		}
		if box := memstore.Look[memstore.Outbox](tx, k.Outbox()); box != nil {
			for _, entry := range box.Entries {
				numbers = append(numbers, entry.Number)
			}
			box.Entries = nil
		}
	})
	return numbers, done
}

// Resume lets claims from a channel go on after TakeBack.
func (m *Memory) Resume(channel Channel) {
	m.store.Do(func(tx *memstore.Tx) { memstore.Value[lease](tx, channel.keys().Lease()).stopped = false })
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
