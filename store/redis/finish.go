package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
)

// finish is a call of a script that removes a claimed entry from the queue: lua/ack.lua, bury.lua, expire.lua or discard.lua.
type finish struct {
	script  *redis.Script
	verb    string // for errors
	options finishOptions
	keys    []string // beyond those that all four have
}

// finishOptions is the last argument of these scripts.
type finishOptions struct {
	Channel      string           `json:"channel,omitempty"`
	TS           string           `json:"ts,omitempty"`
	Reason       string           `json:"reason,omitempty"`
	Answer       string           `json:"answer,omitempty"`
	DeadLetters  int64            `json:"keep,omitempty"`
	Copy         bool             `json:"copy,omitempty"`
	NotPosted    bool             `json:"forget,omitempty"`
	DigestCounts map[string]int64 `json:"noted,omitempty"`
}

func (r *Store) finish(ctx context.Context, channel store.Channel, entry store.Entry, f finish) error {
	k := channel.Keys()
	keys := []string{
		k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Ledger(), k.Posted(), k.Aged(), k.Dead(), k.Digest(),
		lua.DueIndex,
	}
	keys = append(keys, f.keys...)
	if entry.Backlog != "" {
		keys = append(keys, entry.Backlog)
	}
	options, err := json.Marshal(f.options)
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", f.verb, channel.Name, err)
	}
	return r.runFenced(ctx, f.verb, f.script, channel, keys,
		r.opts.Owner, entry.Number, entry.AdmittedAt, entry.Attempts+1, options)
}
