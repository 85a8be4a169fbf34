package outbox

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

// Redis is the engine that all replicas share.
type Redis struct {
	scripter redis.Scripter
	opts     Options
}

var _ Outbox = (*Redis)(nil)

// NewRedis makes a Redis engine.
func NewRedis(scripter redis.Scripter, opts Options) *Redis {
	return &Redis{scripter: scripter, opts: opts.WithDefaults()}
}

// Claim implements [Outbox].
func (r *Redis) Claim(ctx context.Context, channel Channel, pace Pace) (Claim, error) {
	k, before := channel.keys(), time.Now()
	keys := []string{k.Lease(), k.Pause(), k.Pace(), k.Outbox(), k.Entries()}
	reply, err := lua.Claim.Run(ctx, r.scripter, keys,
		r.opts.Owner, r.opts.Lease.Microseconds(), pace.Every.Microseconds(), pace.Burst).Slice()
	if err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	claim, err := decodeClaim(reply)
	if err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if claim.State == Claimed {
		claim.Until = before.Add(r.opts.Lease)
	}
	return claim, nil
}

// decodeClaim reads the reply of lua/claim.lua.
func decodeClaim(reply []any) (Claim, error) {
	var numbers [6]int64
	for i := range min(len(reply), len(numbers)) {
		n, ok := reply[i].(int64)
		if !ok {
			return Claim{}, fmt.Errorf("reply holds %T at %d, want an integer", reply[i], i)
		}
		numbers[i] = n
	}
	claim := Claim{State: State(numbers[0]), Wait: time.Duration(numbers[1]) * time.Microsecond}
	switch {
	case len(reply) == 2 && claim.State != Claimed && claim.State >= Empty && claim.State <= Paced:
		return claim, nil
	case len(reply) == 7 && claim.State == Claimed:
		claim.Entry = Entry{
			Number: numbers[2], Attempts: numbers[3], Faults: numbers[4],
			Age: time.Duration(numbers[5]) * time.Microsecond,
		}
		text, _ := reply[6].(string)
		claim.Entry.Kind, claim.Entry.Payload = splitEntry([]byte(text))
		return claim, nil
	default:
		return Claim{}, fmt.Errorf("reply of %d values in state %d", len(reply), claim.State)
	}
}

// splitEntry takes "<admitted at> <kind> <payload>" apart. What is not of that shape has no kind.
func splitEntry(entry []byte) (kind string, payload []byte) {
	_, rest, _ := bytes.Cut(entry, []byte(" "))
	first, payload, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return "", entry
	}
	return string(first), payload
}

// Ack implements [Outbox].
func (r *Redis) Ack(ctx context.Context, channel Channel, number int64) error {
	k := channel.keys()
	keys := channel.settled(k.Lease(), k.Outbox(), k.Entries(), k.Ledger())
	return r.settle(ctx, "ack", lua.Ack, channel, keys, r.opts.Owner, number)
}

// Retry implements [Outbox].
func (r *Redis) Retry(ctx context.Context, channel Channel, number int64, p Pausing) error {
	k, fault := channel.keys(), 0
	if p.Fault {
		fault = 1
	}
	keys := []string{k.Lease(), k.Outbox(), k.Entries(), k.Pause()}
	return r.settle(ctx, "retry", lua.Retry, channel, keys, r.opts.Owner, number, p.Wait.Microseconds(), p.Reason, fault)
}

// Bury implements [Outbox].
func (r *Redis) Bury(ctx context.Context, channel Channel, number int64, death Death) error {
	k := channel.keys()
	keys := channel.settled(k.Lease(), k.Outbox(), k.Entries(), k.Ledger(), k.Dead())
	return r.settle(ctx, "bury", lua.Bury, channel, keys, r.opts.Owner, number, death.Reason, death.Answer, r.opts.DeadLetters)
}

// Release implements [Outbox].
func (r *Redis) Release(ctx context.Context, channel Channel) error {
	return r.settle(ctx, "release", lua.Release, channel, []string{channel.keys().Lease()}, r.opts.Owner)
}

// settle runs a script that answers 1 (done), 0 (nothing to do) or -1 (the lease is another's).
func (r *Redis) settle(ctx context.Context, verb string, script *redis.Script, channel Channel, keys []string, args ...any) error {
	code, err := script.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, err)
	}
	if code < 0 {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, ErrLeaseLost)
	}
	return nil
}
