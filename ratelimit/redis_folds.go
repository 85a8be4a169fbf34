package ratelimit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"slackrelay/lua"
)

// restore implements [engine].
func (r *Redis) restore(ctx context.Context, scope Scope, requests []Request, f fold) error {
	if err := check(requests); err != nil {
		return err
	}
	_, err := r.call(ctx, newPlan(modeRestore, requests), scope, requests, f)
	return err
}

// pastJSON is what became of a request as lua/admit.lua reads it.
func pastText(r *Request) []byte {
	if r.past == nil {
		return nil
	}
	encoded, err := json.Marshal(r.past.Past)
	if err != nil { // strings and numbers
		return nil
	}
	return encoded
}

// fold implements [engine].
func (r *Redis) fold(ctx context.Context, scope Scope, f fold, drops drops) error {
	names := scope.keys()
	keys := []string{names.Ledger(), names.Series(r.redisTime()), names.Folds(), names.Drops(), names.Digest(), names.Minutes(r.redisTime())}
	if drops.learn {
		keys = append(keys, names.Known())
	}
	counted, err := json.Marshal(countsText(drops))
	if err != nil {
		return fmt.Errorf("fold into channel %s: %w: %w", scope.Channel, ErrRequest, err)
	}
	if err := lua.Fold.Run(ctx, r.scripter, keys, f.replica, f.sequence, counted).Err(); err != nil {
		return fmt.Errorf("fold into channel %s: %w", scope.Channel, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return nil
}

// foldJSON is what lua/fold.lua takes.
type foldJSON struct {
	Totals     map[string]int64 `json:"totals,omitempty"`
	Categories map[string]int64 `json:"categories,omitempty"`
	Noted      map[string]int64 `json:"noted,omitempty"`
	Drops      [][]string       `json:"drops,omitempty"`
	Keep       int64            `json:"keep"`
}

func countsText(d drops) foldJSON {
	kept := make([][]string, len(d.kept))
	for i, k := range d.kept {
		kept[i] = []string{
			string(k.Payload), k.Category, k.Level, strconv.FormatInt(k.Used, 10), strconv.FormatInt(k.Limit, 10),
			strconv.FormatInt(k.Retry.Microseconds(), 10),
		}
	}
	return foldJSON{Totals: d.totals, Categories: d.categories, Noted: d.noted, Drops: kept, Keep: max(1, d.keep)}
}

// heartbeat implements [engine].
func (r *Redis) heartbeat(ctx context.Context, b beat) (pulse, error) {
	ended := 0
	if b.ended {
		ended = 1
	}
	args := []any{b.replica, b.keep.Microseconds(), rand.Text(), ended, b.digest, b.text}
	for _, digest := range b.known {
		args = append(args, digest)
	}
	reply, err := run(ctx, r.scripter, lua.Heartbeat, []string{lua.Alive, lua.Epoch, lua.Levels, lua.Texts}, args)
	if err != nil {
		return pulse{}, fmt.Errorf("heartbeat: %w", err)
	}
	p, err := decodePulse(reply)
	if err != nil {
		return pulse{}, fmt.Errorf("heartbeat: %w: %w", ErrUnavailable, err)
	}
	return p, nil
}

// decodePulse reads the reply of lua/heartbeat.lua.
func decodePulse(reply []any) (pulse, error) {
	if len(reply) != 5 {
		return pulse{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := integers([]any{reply[1], reply[3]})
	if err != nil {
		return pulse{}, err
	}
	p := pulse{alive: numbers[0], missing: numbers[1] == 1, others: map[string]string{}}
	p.epoch, _ = reply[2].(string)
	others, _ := reply[4].([]any)
	for i := 0; i+1 < len(others); i += 2 {
		digest, _ := others[i].(string)
		p.others[digest], _ = others[i+1].(string)
	}
	return p, nil
}

// memory implements [engine].
func (r *Redis) memory(ctx context.Context, scope Scope) (used, most int64, err error) {
	reply, err := run(ctx, r.scripter, lua.Memory, []string{scope.keys().Ledger()}, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("memory of channel %s: %w", scope.Channel, err)
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != 2 {
		return 0, 0, fmt.Errorf("memory of channel %s: %w: reply of %d values: %w", scope.Channel, ErrUnavailable, len(reply), err)
	}
	return numbers[0], numbers[1], nil
}

// Warming implements [Limiter].
func (r *Redis) Warming(ctx context.Context, scope Scope, tiers []Tier) ([]time.Duration, error) {
	args := make([]any, 0, 2*len(tiers))
	for _, tier := range tiers {
		args = append(args, tier.Name, longest(tier.Windows).Microseconds())
	}
	reply, err := run(ctx, r.scripter, lua.Warming, []string{scope.keys().Windows()}, args)
	if err != nil {
		return nil, fmt.Errorf("warming of channel %s: %w", scope.Channel, err)
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != len(tiers) {
		return nil, fmt.Errorf("warming of channel %s: %w: reply of %d values: %w", scope.Channel, ErrUnavailable, len(reply), err)
	}
	warming := make([]time.Duration, len(tiers))
	for i, us := range numbers {
		warming[i] = micros(us)
	}
	return warming, nil
}

// Drops implements [Limiter].
func (r *Redis) Drops(ctx context.Context, scope Scope, before string, most int) ([]Drop, error) {
	page, err := lua.ReadPage(ctx, r.scripter, scope.keys().Drops(), before, most)
	if err != nil {
		return nil, fmt.Errorf("drops of channel %s: %w", scope.Channel, scriptError(err))
	}
	drops := make([]Drop, len(page))
	for i, row := range page {
		drops[i] = dropOf(row.Fields)
		drops[i].ID, drops[i].At = row.ID, row.At
	}
	return drops, nil
}
