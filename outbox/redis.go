package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	k, before := channel.keys(), time.Now()
	keys := []string{k.Lease(), k.Pause(), k.Pace(), k.Outbox(), k.Entries(), k.Extras(), k.Digest()}
	reply, err := lua.Claim.Run(ctx, r.scripter, keys,
		r.opts.Owner, r.opts.Lease.Microseconds(), t.Pace.Every.Microseconds(), t.Pace.Burst, t.TTL.Microseconds(), t.Settle.Microseconds(),
		t.Digest.Interval.Microseconds(), t.Digest.Every.Microseconds(), t.Digest.Minimum, look).Slice()
	if err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	claim, err := decodeClaim(reply)
	if err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if claim.State == Claimed || claim.State == Stale {
		claim.Until = before.Add(r.opts.Lease)
	}
	return claim, nil
}

// decodeClaim reads the reply of lua/claim.lua.
func decodeClaim(reply []any) (Claim, error) {
	const entryAt, whole = 6, 10
	numbers, text := make([]int64, len(reply)), ""
	for i, value := range reply {
		switch v := value.(type) {
		case int64:
			numbers[i] = v
		case string:
			text = v
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
			Looked: numbers[entryAt+2], Thread: numbers[entryAt+3],
		}
		if sent := numbers[entryAt+1]; sent > 0 {
			claim.Entry.Doubt = time.UnixMicro(sent)
		}
		claim.Entry.At, claim.Entry.Kind, claim.Entry.Payload = splitEntry([]byte(text))
	}
	return claim, nil
}

// splitEntry takes "<admitted at> <kind> <payload>" apart. What is not of that shape has no kind.
func splitEntry(entry []byte) (at int64, kind string, payload []byte) {
	admitted, rest, _ := bytes.Cut(entry, []byte(" "))
	first, payload, ok := bytes.Cut(rest, []byte(" "))
	at, err := strconv.ParseInt(string(admitted), 10, 64)
	if !ok || err != nil {
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

func (r *Redis) done(ctx context.Context, channel Channel, number int64, result string, s settlement, more ...string) error {
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
	return r.fenced(ctx, "settle "+result, lua.Settle, channel, keys, r.opts.Owner, number, result, options)
}

// Ack implements [Outbox].
func (r *Redis) Ack(ctx context.Context, channel Channel, number int64, receipt Receipt) error {
	return r.done(ctx, channel, number, "delivered", settlement{Channel: receipt.Channel, TS: receipt.TS})
}

// Bury implements [Outbox].
func (r *Redis) Bury(ctx context.Context, channel Channel, number int64, death Death) error {
	s := settlement{Reason: death.Reason, Answer: death.Answer, Keep: r.opts.DeadLetters, Forget: !death.Shown}
	if death.Copy == nil {
		return r.done(ctx, channel, number, "failed", s)
	}
	s.Copy = true
	return r.done(ctx, channel, number, "failed", s, death.Copy.keys().Extras(), death.Copy.keys().Entries())
}

// Expire implements [Outbox].
func (r *Redis) Expire(ctx context.Context, channel Channel, number int64, noted map[string]int64) error {
	return r.done(ctx, channel, number, "expired", settlement{Forget: true, Noted: noted})
}

// Drop implements [Outbox].
func (r *Redis) Drop(ctx context.Context, channel Channel, number int64) error {
	return r.done(ctx, channel, number, "gone", settlement{})
}

// Retry implements [Outbox].
func (r *Redis) Retry(ctx context.Context, channel Channel, number int64, p Pausing) error {
	k, fault := channel.keys(), 0
	if p.Fault {
		fault = 1
	}
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Pause()}
	return r.fenced(ctx, "retry", lua.Retry, channel, keys,
		r.opts.Owner, number, p.Wait.Microseconds(), p.Reason, fault, p.who(), p.fate())
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

// fenced runs a script that answers 1 (done), 0 (nothing to do) or -1 (the lease is another's).
func (r *Redis) fenced(ctx context.Context, verb string, script *redis.Script, channel Channel, keys []string, args ...any) error {
	code, err := script.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, err)
	}
	if code < 0 {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, ErrLeaseLost)
	}
	return nil
}

// Digest implements [Outbox].
func (r *Redis) Digest(ctx context.Context, channel Channel, t DigestTerms) error {
	k := channel.keys()
	keys := []string{k.Digest(), k.Told(), k.Extras(), k.Entries(), k.Posted(), k.Aged()}
	return r.fenced(ctx, "digest", lua.Digester, channel, keys, channel.Name, t.Interval.Microseconds(), t.Every.Microseconds(), t.Minimum)
}

// Put implements [Outbox].
func (r *Redis) Put(ctx context.Context, channel Channel, id, kind string, payload []byte) error {
	k := channel.keys()
	keys := []string{k.Extras(), k.Entries(), k.Noted()}
	return r.fenced(ctx, "put", lua.Put, channel, keys, id, kind, payload, putFor.Microseconds())
}

// Record implements [Outbox].
func (r *Redis) Record(ctx context.Context, channel Channel, number int64) (*Record, error) {
	text, err := lua.ReadRecord.Run(ctx, r.scripter, []string{channel.keys().Posted()}, number).Text()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // documented: nothing is kept and nothing is wrong
	}
	if err != nil {
		return nil, fmt.Errorf("record %d of channel %s: %w", number, channel.Name, err)
	}
	var record Record
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return nil, fmt.Errorf("record %d of channel %s: %w", number, channel.Name, err)
	}
	return &record, nil
}

// Delayed implements [Outbox].
func (r *Redis) Delayed(ctx context.Context, channel Channel) ([]Waiting, error) {
	k := channel.keys()
	reply, err := lua.Delayed.Run(ctx, r.scripter, []string{k.Delayed(), k.Entries()}, MaxDelayed).Slice()
	if err != nil {
		return nil, fmt.Errorf("delayed in channel %s: %w", channel.Name, err)
	}
	all := make([]Waiting, 0, len(reply)/2)
	for i := 0; i+1 < len(reply); i += 2 {
		number, _ := reply[i].(int64)
		text, _ := reply[i+1].(string)
		_, _, payload := splitEntry([]byte(text))
		all = append(all, Waiting{Number: number, Payload: payload})
	}
	return all, nil
}

// DeadLetters implements [Outbox].
func (r *Redis) DeadLetters(ctx context.Context, channel Channel, before string, most int) ([]DeadLetter, error) {
	page, err := lua.ReadPage(ctx, r.scripter, channel.keys().Dead(), before, most)
	if err != nil {
		return nil, fmt.Errorf("dead letters of channel %s: %w", channel.Name, err)
	}
	letters := make([]DeadLetter, len(page))
	for i, row := range page {
		letters[i] = DeadLetter{ID: row.ID, At: row.At, Reason: row.Fields["reason"], Answer: row.Fields["answer"]}
		letters[i].Number, _ = strconv.ParseInt(row.Fields["number"], 10, 64)
		letters[i].Attempts, _ = strconv.ParseInt(row.Fields["attempts"], 10, 64)
		_, letters[i].Kind, letters[i].Payload = splitEntry([]byte(row.Fields["entry"]))
	}
	return letters, nil
}

// DeleteDead implements [Outbox].
func (r *Redis) DeleteDead(ctx context.Context, channel Channel, ids ...string) (int, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	n, err := lua.Remove.Run(ctx, r.scripter, []string{channel.keys().Dead()}, args...).Int()
	if err != nil {
		return 0, fmt.Errorf("delete dead letters of channel %s: %w", channel.Name, err)
	}
	return n, nil
}

// Take implements [Budget].
func (r *Redis) Take(ctx context.Context, workspace, method string, perMinute int64) (time.Duration, string, error) {
	return r.budget(ctx, workspace, method, perMinute, 0, "")
}

func (r *Redis) budget(ctx context.Context, workspace, method string, perMinute, pause int64, why string) (time.Duration, string, error) {
	w := lua.WorkspaceOf(workspace)
	reply, err := lua.Budget.Run(ctx, r.scripter, []string{w.Budget(method), w.Pause()}, perMinute, pause, why).Slice()
	if err != nil || len(reply) != 2 {
		return 0, "", fmt.Errorf("budget of %s: reply of %d values: %w", method, len(reply), err)
	}
	wait, _ := reply[0].(int64)
	reason, _ := reply[1].(string)
	return micros(wait), reason, nil
}

// Paused implements [Budget].
func (r *Redis) Paused(ctx context.Context, workspace string) (time.Duration, string, error) {
	return r.budget(ctx, workspace, MethodPost, 1, -2, "")
}

// Pause implements [Budget].
func (r *Redis) Pause(ctx context.Context, workspace, reason string, wait time.Duration) error {
	us := wait.Microseconds()
	if us == 0 {
		us = -1
	}
	_, _, err := r.budget(ctx, workspace, MethodPost, 1, us, reason)
	return err
}
