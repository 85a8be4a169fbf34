package replica

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Why a refusal may be repeated without asking: while nothing is removed early, no limit is raised, no state is
// lost and Redis's time is monotone, a level that was full stays so until its newest entries leave. What breaks
// one of these is bounded by SharedOptions.MaxStale, and the cache is emptied when a call fails.

// Safety margins of a deadline that is reckoned on this process's clock.
const (
	clockDrift  = 2000 // one part in so many: 500 ppm
	clockMargin = 50 * time.Millisecond
	// unsureFor bounds what a strategy promises whose refusal may end early.
	unsureFor = 100 * time.Millisecond
	// refreshAt is when to ask again, in hundredths of the time that an answer is believed: late, so that it is
	// asked once in that time, and early enough for the answer.
	refreshAt = 95
	// maxClosed is how many entries a channel keeps; above it, those that ended go.
	maxClosed = 4096
)

// closedKey is what is closed: a level with its windows, or one way of a request through its levels.
type closedKey struct {
	key      string // of the level; "" = a way
	category string
	hash     uint64 // of windows and strategy, so that a changed configuration finds nothing
}

// closedEntry says until when something is closed.
type closedEntry struct {
	until   time.Time        // refused without asking until then
	reopens time.Time        // when it could fit, as Redis reckoned
	refresh time.Time        // from when on a hit asks again in the background
	window  ratelimit.Window // that refuses
	request *store.Request   // what hit it last, to ask again with; nil = not hit since it was asked
}

type closedCache struct {
	mu         sync.Mutex
	entries    map[closedKey]*closedEntry
	refreshing bool
}

var hashSeed = maphash.MakeSeed()

func (c *closedCache) init() { c.entries = map[closedKey]*closedEntry{} }

func (c *closedCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

func hashLevel(l *ratelimit.Level) uint64 {
	h := uint64(14695981039346656037)
	mix := func(n uint64) { h = (h ^ n) * 1099511628211 }
	for _, w := range l.Windows {
		mix(uint64(w.Limit)) //nolint:gosec // any bits will do
		mix(uint64(w.Per))   //nolint:gosec // any bits will do
	}
	mix(uint64(l.Option())) //nolint:gosec // any bits will do
	return h
}

func levelKey(l *ratelimit.Level) closedKey { return closedKey{key: l.Key, hash: hashLevel(l)} }

// wayKey is a request's way through its levels, with what is held back for others.
func wayKey(r *store.Request) closedKey {
	h := uint64(r.Headroom)*31 + 1 //nolint:gosec // any bits will do
	for i := range r.Levels {
		h = (h^maphash.String(hashSeed, r.Levels[i].Key))*1099511628211 + hashLevel(&r.Levels[i])
	}
	if f := r.Fairness; f.Enabled() {
		first := f.FirstNotice
		h = (h ^ uint64(first.Slots<<32+first.PerCategory<<16+first.Floor)) * 1099511628211 //nolint:gosec // any bits will do
		if first.Auto {
			h++
		}
		for _, reserve := range f.Reserves {
			h = (h^maphash.String(hashSeed, reserve.Category))*1099511628211 + uint64(reserve.Slots) //nolint:gosec // any bits will do
		}
	}
	return closedKey{category: r.Category, hash: h}
}

// held tells whether more than its levels can close a request.
func restricted(r *store.Request) bool { return r.Headroom > 0 || r.Fairness.Enabled() }

// refuseClosed decides the requests for one unit at a level that is certainly full, and returns the places of the
// others.
func (ch *channel) refuseClosed(requests []store.Request, decisions []store.Decision) (open []int) {
	c := &ch.closed
	now := ch.opts.Now()
	c.mu.Lock()
	sleeping := ch.opts.MaxStale < 0 || ch.outage.down() || len(c.entries) == 0
	due, last := false, -1 // the place of the last one that was looked up
	for i := range requests {
		r := &requests[i]
		switch {
		case sleeping || r.Units() > 1 || mustAsk(r):
		case last >= 0 && samePath(&requests[last], r):
			decisions[i] = decisions[last]
		default:
			var again bool
			decisions[i], again = c.look(r, now)
			due, last = due || again, i
		}
		if decisions[i].Outcome != store.Dropped || ch.doubts.Load() && ch.inDoubt(*r) {
			decisions[i] = store.Decision{}
			open = append(open, i)
			last = -1
		}
	}
	due = due && !c.refreshing
	c.refreshing = c.refreshing || due
	c.mu.Unlock()
	if due {
		ch.inBackground(ch.refresh)
	}
	return open
}

// sameWay tells whether two requests go through the very same levels with the same held back.
func samePath(r *store.Request, other *store.Request) bool {
	return sameLevels(r, other) && r.Category == other.Category && r.Headroom == other.Headroom && r.Fairness == other.Fairness
}

// sameLevels tells whether two requests have one and the same list of levels.
func sameLevels(r *store.Request, other *store.Request) bool {
	return len(r.Levels) > 0 && len(r.Levels) == len(other.Levels) && &r.Levels[0] == &other.Levels[0]
}

// look answers Dropped where the request is refused, and whether it is time to ask again. The caller holds the
// lock.
func (c *closedCache) look(r *store.Request, now time.Time) (d store.Decision, due bool) {
	hit := func(key closedKey, level string) {
		e := c.entries[key]
		if e == nil || !now.Before(e.until) {
			return
		}
		d.Outcome, d.DecidedBy, d.Durable = store.Dropped, store.ByClosedCache, true
		if len(d.Refused) == 0 {
			d.Window = e.window
		}
		d.Refused = append(d.Refused, level)
		d.RetryAfter = max(d.RetryAfter, e.reopens.Sub(now))
		if e.request == nil {
			request := *r
			request.Enqueue, request.Complete, request.Policy = nil, nil, nil
			e.request = &request
		}
		due = due || !now.Before(e.refresh)
	}
	for i := range r.Levels {
		if !r.Levels[i].Shadow {
			hit(levelKey(&r.Levels[i]), r.Levels[i].Name)
		}
	}
	if len(d.Refused) == 0 && restricted(r) {
		hit(wayKey(r), r.Levels[0].Name)
	}
	if len(d.Refused) > 0 {
		d.Level = d.Refused[0]
	}
	return d, due
}

// learnClosed keeps what an answer says is closed, in place of what was asked about. before is when it was asked
// for, on this process's clock.
func (ch *channel) learnClosed(a store.Answer, requests []store.Request, before time.Time, about ...closedKey) {
	if ch.opts.MaxStale < 0 {
		return
	}
	ch.closed.mu.Lock()
	defer ch.closed.mu.Unlock()
	for _, key := range about {
		delete(ch.closed.entries, key)
	}
	if len(ch.closed.entries) > maxClosed {
		for key, e := range ch.closed.entries {
			if !before.Before(e.until) {
				delete(ch.closed.entries, key)
			}
		}
	}
	for _, c := range a.Closed {
		ch.closed.put(levelKey(c.Level), before, c, c.Level.Strategy.Monotone(), ch.stretch(ch.opts.MaxStale))
	}
	for i, d := range a.Decisions {
		if r := &requests[i]; d.Outcome == store.Dropped && restricted(r) && r.Units() == 1 && d.Level == ratelimit.LevelChannel {
			way := store.ClosedLevel{Level: &r.Levels[0], For: d.RetryAfter, Window: slices.Index(r.Levels[0].Windows, d.Window)}
			ch.closed.put(wayKey(r), before, way, true, ch.stretch(ch.opts.MaxStale))
		}
	}
}

func (c *closedCache) put(key closedKey, before time.Time, of store.ClosedLevel, sure bool, stale time.Duration) {
	closed := of.For
	believed := closed - closed/clockDrift - clockMargin
	if !sure {
		believed = min(believed, unsureFor)
	}
	believed = min(believed, stale)
	if believed <= 0 || len(c.entries) > 2*maxClosed {
		delete(c.entries, key)
		return
	}
	c.entries[key] = &closedEntry{
		until: before.Add(believed), reopens: before.Add(closed), refresh: before.Add(believed * refreshAt / 100),
		window: of.Level.Windows[max(0, of.Window)],
	}
}

// refresh asks again, in one call, for all that was hit since it was asked for. What is open by now is
// forgotten.
func (ch *channel) refresh(ctx context.Context) {
	requests, keys := ch.closed.hits()
	before := ch.opts.Now()
	if len(requests) > 0 {
		ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
		defer cancel()
		if a, err := ch.engine.Decide(ctx, store.ModePeek, ch.scope, requests); err != nil {
			ch.closed.clear() // the connection broke, or the server changed
		} else {
			ch.learnUse(requests, a.Decisions, before)
			if a.Stepped > 0 { // only an admission moves what lies ahead: what this calls closed would never open
				a.Closed, a.Decisions = nil, nil
			}
			ch.learnClosed(a, requests, before, keys...)
		}
	}
	ch.closed.mu.Lock()
	ch.closed.refreshing = false
	ch.closed.mu.Unlock()
}

// hits are requests that ask for everything that was hit, each once, all with the same fairness.
func (c *closedCache) hits() ([]store.Request, []closedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var requests []store.Request
	var keys []closedKey
	asked := map[closedKey]bool{}
	for key, e := range c.entries {
		if e.request == nil || len(requests) == store.MaxBatch || len(requests) > 0 && !e.request.Fairness.Equal(requests[0].Fairness) {
			continue
		}
		keys = append(keys, key)
		if way := wayKey(e.request); !asked[way] {
			asked[way] = true
			r := *e.request
			r.ID = "closed?" // no id of an event, so that it is no duplicate
			requests = append(requests, r)
		}
	}
	return requests, keys
}

// mustAsk tells whether only the shared state can say what becomes of a request: it may spend no slot.
func mustAsk(r *store.Request) bool {
	h := r.Policy
	if h == nil {
		return r.Forced
	}
	if h.Overflow != store.OverflowDrop || r.Delayed > 0 || r.Forced {
		return true
	}
	switch r.Event.Status {
	case store.Resolved, store.Update:
		return r.Event.Fingerprint != ""
	case store.Firing:
		return r.Event.Fingerprint != "" && h.Repeats
	default:
		return false
	}
}
