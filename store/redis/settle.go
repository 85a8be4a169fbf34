package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"

	"github.com/redis/go-redis/v9"
)

// results are the scripts that remove an entry, by its result.
var results = map[string]*redis.Script{
	"delivered": lua.Ack, "failed": lua.Bury, "expired": lua.Expire, "gone": lua.Discard,
}

// settlement is the last argument of these scripts.
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

func (r *Store) done(ctx context.Context, channel store.Channel, entry store.Entry, result string, s settlement, more ...string) error {
	k := channel.Keys()
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Ledger(), k.Posted(), k.Aged(), k.Dead(), k.Digest()}
	keys = append(keys, more...)
	if entry.Backlog != "" {
		keys = append(keys, entry.Backlog)
	}
	options, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("settle in channel %s: %w", channel.Name, err)
	}
	return r.fenced(ctx, "settle "+result, results[result], channel, keys,
		r.opts.Owner, entry.Number, entry.AdmittedAt, entry.Attempts+1, result, options)
}

// Ack implements [Outbox].
func (r *Store) Ack(ctx context.Context, channel store.Channel, entry store.Entry, receipt store.Receipt) error {
	return r.done(ctx, channel, entry, "delivered", settlement{Channel: receipt.Channel, TS: receipt.TS})
}

// Bury implements [Outbox].
func (r *Store) Bury(ctx context.Context, channel store.Channel, entry store.Entry, death store.DeadReason) error {
	s := settlement{Reason: death.Reason, Answer: death.Answer, Keep: r.opts.DeadLetters, Forget: !death.MaybePosted}
	if death.CopyTo == nil {
		return r.done(ctx, channel, entry, "failed", s)
	}
	s.Copy = true
	return r.done(ctx, channel, entry, "failed", s, death.CopyTo.Keys().Extras(), death.CopyTo.Keys().Entries())
}

// Expire implements [Outbox].
func (r *Store) Expire(ctx context.Context, channel store.Channel, entry store.Entry, noted map[string]int64) error {
	return r.done(ctx, channel, entry, "expired", settlement{Forget: true, Noted: noted})
}

// Drop implements [Outbox].
func (r *Store) Discard(ctx context.Context, channel store.Channel, entry store.Entry) error {
	return r.done(ctx, channel, entry, "gone", settlement{})
}
