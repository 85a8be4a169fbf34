package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

// Redis is the engine that all replicas share.
type Redis struct {
	scripter redis.Scripter
	opts     Options
	calls    calls
}

var (
	_ Outbox = (*Redis)(nil)
	_ Budget = (*Redis)(nil)
)

// NewRedis makes a Redis engine.
func NewRedis(scripter redis.Scripter, opts Options) *Redis {
	return &Redis{scripter: scripter, opts: opts.WithDefaults()}
}

// Claim implements [Outbox].
func (r *Redis) Claim(ctx context.Context, channel Channel, t Terms, look bool) (Claim, error) {
	if err := t.check(); err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before, this := time.Now(), r.calls.begin(channel)
	claim, err := r.claim(ctx, channel, t, look, this)
	if err != nil {
		r.calls.lose(channel, this.number)
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if claim.State == Claimed || claim.State == Stale {
		claim.Until = before.Add(r.opts.Lease)
	}
	return claim, nil
}

func (r *Redis) claim(ctx context.Context, channel Channel, t Terms, look bool, this call) (Claim, error) {
	k := channel.keys()
	keys := []string{k.Lease(), k.Pause(), k.Pace(), k.Outbox(), k.Entries(), k.Extras(), k.Digest()}
	reply, err := lua.Claim.Run(ctx, r.scripter, keys,
		r.opts.Owner, r.opts.Lease.Microseconds(), t.Pace.Every.Microseconds(), t.Pace.Burst, t.TTL.Microseconds(), t.Settle.Microseconds(),
		t.Digest.Interval.Microseconds(), t.Digest.Every.Microseconds(), t.Digest.Minimum, look,
		this.number, this.lostFrom, this.lostTo).Slice()
	if err != nil {
		return Claim{}, lua.WrongType(ctx, r.scripter, keys, err)
	}
	return decodeClaim(reply)
}

// decodeClaim reads the reply of lua/claim.lua.
func decodeClaim(reply []any) (Claim, error) {
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
			return Claim{}, fmt.Errorf("reply holds %T at %d", value, i)
		}
	}
	if len(reply) != 2 && len(reply) != whole {
		return Claim{}, fmt.Errorf("reply of %d values", len(reply))
	}
	claim := Claim{State: State(numbers[0]), Wait: micros(numbers[1])}
	if taken := claim.State == Claimed || claim.State == Stale; claim.State < Empty || claim.State > Settling || taken != (len(reply) == whole) {
		return Claim{}, fmt.Errorf("reply of %d values in state %d", len(reply), claim.State)
	}
	if len(reply) == whole {
		claim.Entry = Entry{
			Number: numbers[2], Attempts: numbers[3], Faults: numbers[4], Age: micros(numbers[5]),
			Looked: numbers[entryAt+2], Thread: numbers[entryAt+3], Name: texts[nameAt],
		}
		if sent := numbers[entryAt+1]; sent > 0 {
			claim.Entry.Doubt = time.UnixMicro(sent)
		}
		claim.Entry.At, claim.Entry.Kind, claim.Entry.Payload = splitEntry([]byte(texts[entryAt]))
	}
	return claim, nil
}

// splitEntry takes "<admitted at> <kind> <payload>" apart. What is not of that shape has no kind, and 0 as its time:
// lua/settle.lua and lua/retry.lua read it in the same way.
func splitEntry(entry []byte) (at int64, kind string, payload []byte) {
	admitted, rest, _ := bytes.Cut(entry, []byte(" "))
	first, payload, ok := bytes.Cut(rest, []byte(" "))
	at, err := strconv.ParseInt(string(admitted), 10, 64)
	if written := len(admitted) <= 18 && at > 0 && string(admitted) == strconv.FormatInt(at, 10); !ok || err != nil || !written {
		return 0, "", entry
	}
	return at, string(first), payload
}

// settlement is the last argument of lua/settle.lua.
type settlement struct {
	Channel string           `json:"channel,omitempty"`
	TS      string           `json:"ts,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	Answer  string           `json:"answer,omitempty"`
	Keep    int64            `json:"keep,omitempty"`
	Copy    bool             `json:"copy,omitempty"`
	Forget  bool             `json:"forget,omitempty"`
	Noted   map[string]int64 `json:"noted,omitempty"`
}

func (r *Redis) done(ctx context.Context, channel Channel, entry Entry, result string, s settlement, more ...string) error {
	k := channel.keys()
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Ledger(), k.Posted(), k.Aged(), k.Dead(), k.Digest()}
	keys = append(keys, more...)
	if channel.Backlog != "" {
		keys = append(keys, channel.Backlog)
	}
	options, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("settle in channel %s: %w", channel.Name, err)
	}
	return r.fenced(ctx, "settle "+result, lua.Settle, channel, keys,
		r.opts.Owner, entry.Number, entry.At, entry.Attempts+1, result, options)
}

// Ack implements [Outbox].
func (r *Redis) Ack(ctx context.Context, channel Channel, entry Entry, receipt Receipt) error {
	return r.done(ctx, channel, entry, "delivered", settlement{Channel: receipt.Channel, TS: receipt.TS})
}

// Bury implements [Outbox].
func (r *Redis) Bury(ctx context.Context, channel Channel, entry Entry, death Death) error {
	s := settlement{Reason: death.Reason, Answer: death.Answer, Keep: r.opts.DeadLetters, Forget: !death.Shown}
	if death.Copy == nil {
		return r.done(ctx, channel, entry, "failed", s)
	}
	s.Copy = true
	return r.done(ctx, channel, entry, "failed", s, death.Copy.keys().Extras(), death.Copy.keys().Entries())
}

// Expire implements [Outbox].
func (r *Redis) Expire(ctx context.Context, channel Channel, entry Entry, noted map[string]int64) error {
	return r.done(ctx, channel, entry, "expired", settlement{Forget: true, Noted: noted})
}

// Drop implements [Outbox].
func (r *Redis) Drop(ctx context.Context, channel Channel, entry Entry) error {
	return r.done(ctx, channel, entry, "gone", settlement{})
}

// Retry implements [Outbox].
func (r *Redis) Retry(ctx context.Context, channel Channel, entry Entry, p Pausing) error {
	k, fault := channel.keys(), 0
	if p.Fault {
		fault = 1
	}
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Pause()}
	return r.fenced(ctx, "retry", lua.Retry, channel, keys,
		r.opts.Owner, entry.Number, entry.At, entry.Attempts+1, p.Wait.Microseconds(), p.Reason, fault, p.who(), p.fate())
}

func (p Pausing) who() string {
	if p.Who == "" {
		return ChannelWaits
	}
	return p.Who
}

func (p Pausing) fate() string {
	if p.Fate == "" {
		return string(NotPosted)
	}
	return string(p.Fate)
}

// Renew implements [Outbox].
func (r *Redis) Renew(ctx context.Context, channel Channel) (time.Time, error) {
	before := time.Now()
	err := r.fenced(ctx, "renew", lua.Renew, channel, []string{channel.keys().Lease()}, r.opts.Owner, r.opts.Lease.Microseconds())
	return before.Add(r.opts.Lease), err
}

// Release implements [Outbox].
func (r *Redis) Release(ctx context.Context, channel Channel) error {
	return r.fenced(ctx, "release", lua.Release, channel, []string{channel.keys().Lease()}, r.opts.Owner)
}

// Hold implements [Outbox].
func (r *Redis) Hold(ctx context.Context, channel Channel, wait time.Duration, reason string) error {
	return r.fenced(ctx, "hold", lua.Hold, channel, []string{channel.keys().Pause()}, wait.Microseconds(), reason)
}

// fenced runs a script that answers 1 (done), 0 (nothing to do) or -1 (the lease is another's).
func (r *Redis) fenced(ctx context.Context, verb string, script *redis.Script, channel Channel, keys []string, args ...any) error {
	code, err := script.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, lua.WrongType(ctx, r.scripter, keys, err))
	}
	if code < 0 {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, ErrLeaseLost)
	}
	return nil
}
