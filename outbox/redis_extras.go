package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

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
