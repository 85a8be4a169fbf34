package replica

import (
	"cmp"
	"slices"

	"slackrelay/store"
)

// maxLogged and maxLoggedBytes bound the drops for the channel's record in one batch of counts, and the bytes of their
// events: a call that waits for the store waits for the batch too.
const (
	maxLogged      = 200
	maxLoggedBytes = 128 << 10
)

// dropLog has the drops that this process decided by itself until they are merged into the channel's record: the first of
// each category, and the newest.
type dropLog struct {
	firsts     []loggedDrop
	newest     []loggedDrop // a ring, once it is full
	categories map[string]bool
	next       int64 // the order of the next drop
	keep       int64 // how many drops the channel's record keeps
}

// loggedDrop is a drop whose event is encoded only when it is sent.
type loggedDrop struct {
	order   int64
	request store.Request
	drop    store.Drop
}

// add records a drop, unless the channel keeps no record.
func (log *dropLog) add(request *store.Request, d *store.Decision) {
	h := request.Policy
	if h == nil || h.KeepDrops == 0 {
		return
	}
	log.keep = h.KeepDrops
	logged := loggedDrop{order: log.next, request: *request, drop: dropOf(request, d)}
	log.next++
	if log.categories == nil {
		log.categories = map[string]bool{}
	}
	switch {
	case !log.categories[request.Category] && len(log.firsts) < maxLogged/2:
		log.categories[request.Category] = true
		log.firsts = append(log.firsts, logged)
	case len(log.newest) < maxLogged/2:
		log.newest = append(log.newest, logged)
	default:
		log.newest[logged.order%int64(len(log.newest))] = logged
	}
}

// dropOf is the record of a refusal.
func dropOf(r *store.Request, d *store.Decision) store.Drop {
	drop := store.Drop{Category: r.Category, Level: d.Level, Used: -1, Limit: -1, RetryAfter: max(0, d.RetryAfter)}
	if d.Outcome != store.Dropped {
		drop.Level = d.Outcome.Reason()
	}
	if d.Outcome == store.Dropped && d.Window.Per > 0 {
		drop.Limit = d.Window.Limit
		drop.Used = d.Window.Limit // as far as is known here
	}
	for _, remaining := range d.Remaining {
		if remaining.Level == drop.Level && remaining.Window == d.Window {
			drop.Used = remaining.Used
			break
		}
	}
	return drop
}

// flush removes all drops and returns them, oldest first, and how many the channel's record keeps. Of what is too long, it
// returns the first of each category and the newest. A drop whose event cannot be encoded is left out; it is counted all
// the same.
func (log *dropLog) flush() (drops []store.Drop, keep int64) {
	slices.SortFunc(log.newest, func(a, b loggedDrop) int { return cmp.Compare(b.order, a.order) })
	var sent []loggedDrop
	bytes := 0
	for _, logged := range append(log.firsts, log.newest...) {
		if logged.request.Complete() != nil {
			continue
		}
		logged.drop.Payload = logged.request.Payload()
		bytes += len(logged.drop.Payload)
		if bytes > maxLoggedBytes && len(sent) > 0 {
			break
		}
		sent = append(sent, logged)
	}
	slices.SortFunc(sent, func(a, b loggedDrop) int { return cmp.Compare(a.order, b.order) })
	drops = make([]store.Drop, len(sent))
	for i := range sent {
		drops[i] = sent[i].drop
	}
	keep = log.keep
	*log = dropLog{next: log.next}
	return drops, keep
}
