package store

import (
	"time"

	"slackrelay/lua"
)

// Channel names a channel, whose ledger, ids, outbox and keys a call is about.
type Channel struct {
	Group string // the limit group, which shares one hash tag; "" = the channel's own name
	Name  string
}

// Keys names the keys of the channel.
func (c Channel) Keys() lua.Keys { return lua.KeysOf(c.Group, c.Name) }

// Micros is a duration of so many microseconds.
func Microseconds(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
