package memory

// pause is until when a channel sends nothing. Times are microseconds of store time; 0 = not paused.
type pause struct {
	until       int64
	reason      string
	editsUntil  int64 // until then nothing is edited
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

// credentialPause is until when a Slack credential may not be used, and why.
type credentialPause struct {
	until  int64
	reason string
}
