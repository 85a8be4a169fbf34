package store

import (
	"cmp"

	"slackrelay/lua"
)

// Channel names a channel: the one whose ledger, ids, queue and keys a call reads or writes.
type Channel struct {
	Group string // the limit group, whose channels share one hash tag; "" = the channel's own name
	Name  string
}

// LimitGroup returns the limit group of the channel, which by default has its name.
func (c Channel) LimitGroup() string { return cmp.Or(c.Group, c.Name) }

// Keys returns the names of the channel's keys.
func (c Channel) Keys() lua.Keys { return lua.KeysOf(c.Group, c.Name) }
