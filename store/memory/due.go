package memory

import (
	"context"
	"maps"

	"slackrelay/lua"
	"slackrelay/store"
)

// Due implements [store.Queue]. It is the twin of lua/due.lua.
func (s *Store) Due(_ context.Context, among []store.Channel, _ bool) ([]store.Work, error) {
	var found []store.TimedWork
	s.data.Do(func(tx *Tx) {
		for name, at := range tx.look(lua.DueIndex) {
			if at <= tx.now {
				kind, group, channel := lua.ParseWork(name)
				work := store.Work{Kind: store.WorkKind(kind), Channel: store.Channel{Group: group, Name: channel}}
				found = append(found, store.TimedWork{Work: work, At: at})
			}
		}
	})
	return store.WorkOf(found, among), nil
}

// HasWork reports whether a channel has something to send that is due now. It is a Due of one channel, and cheap.
func (s *Store) HasWork(channel store.Channel) (has bool) {
	s.data.Do(func(tx *Tx) {
		at, ok := tx.look(lua.DueIndex)[channel.Keys().Work(string(store.WorkSend))]
		has = ok && at <= tx.now
	})
	return has
}

// DueOf appends the work of a channel to works, each with the time when to look at it next.
func (d *Data) DueOf(channel store.Channel, works []store.TimedWork) []store.TimedWork {
	d.Do(func(tx *Tx) {
		for name, at := range tx.look(lua.DueIndex) {
			kind, group, of := lua.ParseWork(name)
			if of == channel.Name && group == channel.LimitGroup() {
				works = append(works, store.TimedWork{Work: store.Work{Kind: store.WorkKind(kind), Channel: channel}, At: at})
			}
		}
	})
	return works
}

// DueIndex returns when to look at each work next, in microseconds of store time, by the names in the index.
func (d *Data) DueIndex() map[string]int64 {
	index := map[string]int64{}
	d.Do(func(tx *Tx) { maps.Copy(index, tx.look(lua.DueIndex)) })
	return index
}

// lookAt notes when to look at a work of the channel; 0 = the channel has none.
func (tx channelTx) lookAt(kind store.WorkKind, at int64) {
	work := tx.keys.Work(string(kind))
	if at == 0 {
		delete(tx.look(lua.DueIndex), work)
		return
	}
	tx.numbers(lua.DueIndex)[work] = at
}

// lookNow lets senders look at the channel now, because it may have more to do than before.
func (tx channelTx) lookNow(kind store.WorkKind) {
	work, index := tx.keys.Work(string(kind)), tx.numbers(lua.DueIndex)
	if at, isKnown := index[work]; !isKnown || at > tx.now {
		index[work] = tx.now
	}
}

// promoteNow lets senders decide the channel's delayed messages now, because they may fit. Without any, it does nothing.
func (tx channelTx) promoteNow() {
	if len(tx.outbox().delayed) > 0 {
		tx.lookNow(store.WorkPromote)
	}
}
