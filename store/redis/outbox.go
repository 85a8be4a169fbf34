package redis

import (
	"github.com/redis/go-redis/v9"

	"slackrelay/store"
)

// Redis is the engine that all replicas share.
type Outbox struct {
	scripter redis.Scripter
	opts     store.Options
	calls    store.Calls
}

var (
	_ store.Outbox = (*Outbox)(nil)
	_ store.Budget = (*Outbox)(nil)
)

// NewRedis makes a Redis engine.
func NewOutbox(scripter redis.Scripter, opts store.Options) *Outbox {
	return &Outbox{scripter: scripter, opts: opts.WithDefaults()}
}
