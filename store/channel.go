package store

import (
	"slackrelay/lua"
)

// Channel names a channel: the one whose ledger, ids, queue and keys a call reads or writes.
type Channel struct {
	Group string // the limit group, whose channels share one hash tag; "" = the channel's own name
	Name  string
}

// Keys returns the names of the channel's keys.
func (c Channel) Keys() lua.Keys { return lua.KeysOf(c.Group, c.Name) }
