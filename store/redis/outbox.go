package redis

import (
	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
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

// results are the scripts that take out an entry, by its result.
var results = map[string]*redis.Script{
	"delivered": lua.Ack, "failed": lua.Bury, "expired": lua.Expire, "gone": lua.Discard,
}
