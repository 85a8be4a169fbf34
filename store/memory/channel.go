package memory

import (
	"slackrelay/lua"
	"slackrelay/store"
)

// channelTx is one atomic step on the data of a channel. What is absent is kept as an empty value when it is asked for.
type channelTx struct {
	*Tx
	keys lua.Keys
}

// do runs f as one atomic step on the data of a channel.
func (s *Store) do(channel store.Channel, f func(tx channelTx)) {
	s.data.Do(func(tx *Tx) { f(channelTx{tx, channel.Keys()}) })
}

func (tx channelTx) ledger() map[string]int64 { return tx.numbers(tx.keys.Ledger()) }

func (tx channelTx) admitted() *idTimes { return kept[idTimes](tx.Tx, tx.keys.Seen()) }

func (tx channelTx) outbox() *queue { return kept[queue](tx.Tx, tx.keys.Outbox()) }

func (tx channelTx) lease() *lease { return kept[lease](tx.Tx, tx.keys.Lease()) }

func (tx channelTx) pause() *pause { return kept[pause](tx.Tx, tx.keys.Pause()) }

func (tx channelTx) posted() *posted { return kept[posted](tx.Tx, tx.keys.Posted()) }

func (tx channelTx) digest() *digestState { return kept[digestState](tx.Tx, tx.keys.Digest()) }

func (tx channelTx) dead() *records[store.DeadLetter] {
	return kept[records[store.DeadLetter]](tx.Tx, tx.keys.Dead())
}

func (tx channelTx) drops() *records[store.Drop] {
	return kept[records[store.Drop]](tx.Tx, tx.keys.Drops())
}
