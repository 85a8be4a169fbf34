package redis

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Claim implements [Outbox].
func (r *Store) Claim(ctx context.Context, channel store.Channel, t store.Terms, look bool) (store.Claim, error) {
	if err := t.Check(); err != nil {
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before, this := time.Now(), r.calls.Begin(channel)
	claim, err := r.claim(ctx, channel, t, look, this)
	if err != nil {
		r.calls.Lose(channel, this.Number)
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if claim.State == store.Claimed || claim.State == store.Stale {
		claim.Entry.Backlog = t.Backlog
		claim.Until = before.Add(r.opts.Lease)
	}
	return claim, nil
}

func (r *Store) claim(ctx context.Context, channel store.Channel, t store.Terms, look bool, this store.ClaimCall) (store.Claim, error) {
	k := channel.Keys()
	keys := []string{k.Lease(), k.Pause(), k.Pace(), k.Outbox(), k.Entries(), k.Extras(), k.Digest()}
	reply, err := lua.Claim.Run(ctx, r.scripter, keys,
		r.opts.Owner, r.opts.Lease.Microseconds(), t.Pace.Every.Microseconds(), t.Pace.Burst, t.TTL.Microseconds(), t.LookupDelay.Microseconds(),
		t.Digest.Interval.Microseconds(), t.Digest.EditEvery.Microseconds(), t.Digest.Minimum, look,
		this.Number, this.LostFrom, this.LostTo).Slice()
	if err != nil {
		return store.Claim{}, lua.WrongType(ctx, r.scripter, keys, err)
	}
	return decodeClaim(reply)
}

// decodeClaim reads the reply of lua/claim.lua.
func decodeClaim(reply []any) (store.Claim, error) {
	const entryAt, nameAt, whole = 6, 10, 11
	numbers, texts := make([]int64, len(reply)), make([]string, whole)
	for i, value := range reply {
		switch v := value.(type) {
		case int64:
			numbers[i] = v
		case string:
			if i < whole {
				texts[i] = v
			}
		default:
			return store.Claim{}, fmt.Errorf("reply holds %T at %d", value, i)
		}
	}
	if len(reply) != 2 && len(reply) != whole {
		return store.Claim{}, fmt.Errorf("reply of %d values", len(reply))
	}
	claim := store.Claim{State: store.ClaimState(numbers[0]), Wait: store.Microseconds(numbers[1])}
	if taken := claim.State == store.Claimed || claim.State == store.Stale; claim.State < store.Empty || claim.State > store.AwaitingLookup || taken != (len(reply) == whole) {
		return store.Claim{}, fmt.Errorf("reply of %d values in state %d", len(reply), claim.State)
	}
	if len(reply) == whole {
		claim.Entry = store.Entry{
			Number: numbers[2], Attempts: numbers[3], Faults: numbers[4], Age: store.Microseconds(numbers[5]),
			Lookups: numbers[entryAt+2], Thread: numbers[entryAt+3], Name: texts[nameAt],
		}
		if sent := numbers[entryAt+1]; sent > 0 {
			claim.Entry.UnknownSince = time.UnixMicro(sent)
		}
		claim.Entry.AdmittedAt, claim.Entry.Kind, claim.Entry.Payload = splitEntry([]byte(texts[entryAt]))
	}
	return claim, nil
}

// splitEntry takes "<admitted at> <kind> <payload>" apart. What is not of that shape has no kind, and 0 as its time:
// lua/src/parts/entry/claimed.lua reads it in the same way.
func splitEntry(entry []byte) (at int64, kind string, payload []byte) {
	admitted, rest, _ := bytes.Cut(entry, []byte(" "))
	first, payload, ok := bytes.Cut(rest, []byte(" "))
	at, err := strconv.ParseInt(string(admitted), 10, 64)
	if written := len(admitted) <= 18 && at > 0 && string(admitted) == strconv.FormatInt(at, 10); !ok || err != nil || !written {
		return 0, "", entry
	}
	return at, string(first), payload
}
