package silence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

// ErrUnavailable wraps every error of the connection to Redis.
var ErrUnavailable = errors.New("silences unavailable")

// Redis is a store that any number of processes share: a hash of silences by id.
type Redis struct {
	client redis.Cmdable
}

var _ Store = (*Redis)(nil)

// NewRedis makes a Redis store.
func NewRedis(client redis.Cmdable) *Redis { return &Redis{client: client} }

// Put implements [Store].
func (r *Redis) Put(ctx context.Context, s Silence) error {
	encoded, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode silence %s: %w", s.ID, err)
	}
	if err := r.client.HSet(ctx, lua.Silences, s.ID, encoded).Err(); err != nil {
		return fmt.Errorf("%w: write: %w", ErrUnavailable, err)
	}
	return nil
}

// Create implements [Store].
func (r *Redis) Create(ctx context.Context, s Silence) (bool, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return false, fmt.Errorf("encode silence %s: %w", s.ID, err)
	}
	created, err := r.client.HSetNX(ctx, lua.Silences, s.ID, encoded).Result()
	if err != nil {
		return false, fmt.Errorf("%w: write: %w", ErrUnavailable, err)
	}
	return created, nil
}

// List implements [Store]. It also deletes the silences that ended more than 5 days ago.
func (r *Redis) List(ctx context.Context) (time.Time, []Silence, error) {
	now, err := r.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, nil, fmt.Errorf("%w: read the time: %w", ErrUnavailable, err)
	}
	fields, err := r.client.HGetAll(ctx, lua.Silences).Result()
	if err != nil {
		return time.Time{}, nil, fmt.Errorf("%w: read: %w", ErrUnavailable, err)
	}
	var all []Silence
	var old []string
	for id, text := range fields {
		var s Silence
		if json.Unmarshal([]byte(text), &s) != nil || now.Sub(s.EndsAt) > keepEnded {
			old = append(old, id)
			continue
		}
		all = append(all, s)
	}
	if len(old) > 0 {
		if err := r.client.HDel(ctx, lua.Silences, old...).Err(); err != nil {
			return time.Time{}, nil, fmt.Errorf("%w: delete ended silences: %w", ErrUnavailable, err)
		}
	}
	return now, all, nil
}
