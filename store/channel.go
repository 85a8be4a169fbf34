package store

import (
	"time"

	"slackrelay/lua"
)

// Channel says whose outbox, and in which limit group its keys are.
type OutboxChannel struct {
	Group string
	Name  string
	// Backlog is the key of a level of the strategy backlog, which an entry leaves when it is settled for
	// good; "" = there is none.
	Backlog string
}

func (c OutboxChannel) Keys() lua.Keys { return lua.KeysOf(c.Group, c.Name) }

// Scope says whose ledger, dedupe set and outbox a call belongs to.
type Channel struct {
	Group string // the limit group; by default the channel's own name
	Name  string
}

func (s Channel) Keys() lua.Keys { return lua.KeysOf(s.Group, s.Name) }

func Micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
