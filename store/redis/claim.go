package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Claim implements [store.Queue].
func (r *Store) Claim(ctx context.Context, channel store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	if err := terms.Check(); err != nil {
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before := time.Now()
	call := r.calls.Begin(channel)
	claim, err := r.claim(ctx, channel, terms, look, call)
	if err != nil {
		r.calls.Lose(channel, call.Number)
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	return r.leased(claim, terms, before), nil
}

// leased completes a claim that was asked for at a time.
func (r *Store) leased(claim store.Claim, terms store.Terms, asked time.Time) store.Claim {
	if claim.State.HasEntry() {
		claim.Entry.Backlog = terms.Backlog
		claim.Until = asked.Add(r.opts.Lease)
	}
	return claim
}

func (r *Store) claim(
	ctx context.Context, channel store.Channel, terms store.Terms, look bool, call store.ClaimCall,
) (store.Claim, error) {
	keys := claimKeys(channel)
	reply, err := lua.Claim.Run(ctx, r.scripter, keys, r.claimArgs(terms, look, call)...).Slice()
	if err != nil {
		return store.Claim{}, scriptError(lua.WrongType(ctx, r.scripter, keys, err))
	}
	claim, err := decodeClaim(reply)
	if err != nil {
		return store.Claim{}, fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, err)
	}
	return claim, nil
}

// claimKeys returns KEYS of lua/claim.lua, with room for those of lua/ack_claim.lua.
func claimKeys(channel store.Channel) []string {
	k := channel.Keys()
	return append(make([]string, 0, 11),
		k.Lease(), k.Pause(), k.Pace(), k.Outbox(), k.Entries(), k.Extras(), k.Digest(), lua.DueIndex)
}

// claimArgs returns ARGV of lua/claim.lua, with room for those of lua/ack_claim.lua.
func (r *Store) claimArgs(terms store.Terms, look bool, call store.ClaimCall) []any {
	return append(make([]any, 0, 17),
		r.opts.Owner, r.opts.Lease.Microseconds(),
		terms.Pace.Every.Microseconds(), terms.Pace.Burst, terms.TTL.Microseconds(), terms.LookupDelay.Microseconds(),
		terms.Digest.Interval.Microseconds(), terms.Digest.EditEvery.Microseconds(), terms.Digest.Minimum,
		look, call.Number, call.LostFrom, call.LostTo)
}

// decodeClaim reads the reply of lua/claim.lua: [state, wait], and with an entry 10 values more.
func decodeClaim(reply []any) (store.Claim, error) {
	if len(reply) < 2 {
		return store.Claim{}, fmt.Errorf("reply of %d values", len(reply))
	}
	head, err := integers(reply[:2])
	if err != nil {
		return store.Claim{}, err
	}
	claim := store.Claim{State: store.ClaimState(head[0]), Wait: store.Microseconds(head[1])}
	if !claim.State.Valid() || claim.State.HasEntry() != (len(reply) > 2) {
		return store.Claim{}, fmt.Errorf("reply of %d values in state %d", len(reply), claim.State)
	}
	if !claim.State.HasEntry() {
		return claim, nil
	}
	last := len(reply) - 1
	claim.More = reply[last] == int64(1)
	claim.Entry, err = decodeEntry(reply[2:last])
	return claim, err
}

// decodeEntry reads [number, attempts, faults, age, entry, sent, looked, thread, name].
func decodeEntry(reply []any) (store.Entry, error) {
	const fields = 9
	if len(reply) != fields {
		return store.Entry{}, fmt.Errorf("reply with an entry of %d values, want %d", len(reply), fields)
	}
	counts, err := integers(reply[0:4])
	if err != nil {
		return store.Entry{}, err
	}
	state, err := integers(reply[5:8])
	if err != nil {
		return store.Entry{}, err
	}
	text, isText := reply[4].(string)
	name, isName := reply[8].(string)
	if !isText || !isName {
		return store.Entry{}, fmt.Errorf("reply holds an entry of %T with a name of %T, want strings", reply[4], reply[8])
	}
	entry := store.Entry{
		Number:   counts[0],
		Attempts: counts[1],
		Faults:   counts[2],
		Age:      store.Microseconds(counts[3]),
		Lookups:  state[1],
		Thread:   state[2],
		Name:     name,
	}
	if sent := state[0]; sent > 0 {
		entry.UnknownSince = time.UnixMicro(sent)
	}
	entry.AdmittedAt, entry.Kind, entry.Payload = splitEntry([]byte(text))
	return entry, nil
}
