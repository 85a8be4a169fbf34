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

// pause is until when a channel sends nothing, or a Slack credential is not used. Times are microseconds of store time; 0 =
// not paused.
type pause struct {
	until       int64
	reason      string
	editsUntil  int64 // until then the channel edits nothing
	lookupUntil int64 // until then it is too early to look up a message that may have been posted
}

// bucket is when the bucket of a pace or a budget is empty again.
type bucket struct{ emptyAt int64 }

// lease is the right of one sender to send from a channel.
type lease struct {
	owner    string
	until    int64
	call     int64 // the number of the owner's claim
	inFlight int64 // the number of the entry that was claimed and is not settled yet; 0 = none
	stopped  bool  // nothing is claimed until [Store.Resume]; see [Store.TakeBack]
}

// release ends the lease if owner holds it.
func (l *lease) release(owner string) {
	if l.owner == owner {
		*l = lease{stopped: l.stopped}
	}
}

// isHeldByOther reports whether another sender than owner holds the lease.
func (l *lease) isHeldByOther(owner string, now int64) bool {
	return l.owner != "" && l.owner != owner && l.until > now
}
