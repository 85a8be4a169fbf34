package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"slackrelay/store"
)

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

func (r *Outbox) done(ctx context.Context, channel store.OutboxChannel, entry store.Entry, result string, s settlement, more ...string) error {
	k := channel.Keys()
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Ledger(), k.Posted(), k.Aged(), k.Dead(), k.Digest()}
	keys = append(keys, more...)
	if channel.Backlog != "" {
		keys = append(keys, channel.Backlog)
	}
	options, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("settle in channel %s: %w", channel.Name, err)
	}
	return r.fenced(ctx, "settle "+result, results[result], channel, keys,
		r.opts.Owner, entry.Number, entry.At, entry.Attempts+1, result, options)
}

// Ack implements [Outbox].
func (r *Outbox) Ack(ctx context.Context, channel store.OutboxChannel, entry store.Entry, receipt store.Receipt) error {
	return r.done(ctx, channel, entry, "delivered", settlement{Channel: receipt.Channel, TS: receipt.TS})
}

// Bury implements [Outbox].
func (r *Outbox) Bury(ctx context.Context, channel store.OutboxChannel, entry store.Entry, death store.DeadReason) error {
	s := settlement{Reason: death.Reason, Answer: death.Answer, Keep: r.opts.DeadLetters, Forget: !death.Shown}
	if death.Copy == nil {
		return r.done(ctx, channel, entry, "failed", s)
	}
	s.Copy = true
	return r.done(ctx, channel, entry, "failed", s, death.Copy.Keys().Extras(), death.Copy.Keys().Entries())
}

// Expire implements [Outbox].
func (r *Outbox) Expire(ctx context.Context, channel store.OutboxChannel, entry store.Entry, noted map[string]int64) error {
	return r.done(ctx, channel, entry, "expired", settlement{Forget: true, Noted: noted})
}

// Drop implements [Outbox].
func (r *Outbox) Discard(ctx context.Context, channel store.OutboxChannel, entry store.Entry) error {
	return r.done(ctx, channel, entry, "gone", settlement{})
}
