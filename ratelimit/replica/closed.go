package replica

import (
	"slices"
	"sync"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Why a refusal may be repeated without asking the store: while nothing is removed early, no limit is raised, no state is
// lost and the store's time is monotonic, a level that was full stays full until its newest entries leave. What breaks one
// of these is bounded by Options.MaxStale, and the cache is emptied when a call fails.

const (
	// clockDrift is by how much the clocks of this process and of the store may differ: one part in 2000, or 500 ppm.
	clockDrift = 2000
	// clockMargin is subtracted from a time beside that.
	clockMargin = 50 * time.Millisecond
	// earlyEnd bounds how long a refusal is believed of a strategy that may end one early.
	earlyEnd = 100 * time.Millisecond
	// refreshPercent is when an entry is refreshed, in percent of the time that it is believed: late, so that the store is
	// asked once in that time, and early enough for its answer.
	refreshPercent = 95
	// usualLevels is how many levels most channels have.
	usualLevels = 2
	// maxClosed is how many entries a channel has before those that ended are removed.
	maxClosed = 4096
)

// closedCache has the levels and paths of a channel that are certainly full.
type closedCache struct {
	mu         sync.Mutex
	entries    map[closedKey]*closedEntry // nil until something is closed
	refreshing bool
}

// closedEntry is how long a level or a path is closed.
type closedEntry struct {
	until   time.Time        // requests are refused without asking until then
	reopens time.Time        // when one could fit, by the store's answer
	refresh time.Time        // from when on a hit refreshes the entry in the background
	window  ratelimit.Window // that is full
	request *store.Request   // of the first hit since the last refresh, to refresh with; nil = there was none
}

func (c *closedCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

// refuseClosed drops the requests that certainly do not fit, and returns the places of the others.
func (ch *channel) refuseClosed(requests []store.Request, decisions []store.Decision) (open []int) {
	now := ch.opts.Now()
	if !ch.outage.down() && ch.closed.refuse(requests, decisions, now) {
		ch.limiter.inBackground(ch.refreshClosed)
	}
	unknown := &ch.limiter.unknown
	for i := range requests {
		if decisions[i].Outcome == store.Dropped && !unknown.contain(requests[i:i+1], now) {
			continue
		}
		decisions[i] = store.Decision{}
		open = append(open, i)
	}
	return open
}

// refuse writes the decisions of the requests that do not fit, and reports whether the caller is to start a refresh.
func (c *closedCache) refuse(requests []store.Request, decisions []store.Decision, now time.Time) (startRefresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) == 0 {
		return false
	}
	due := false
	last := -1 // the place of the request that was looked up last
	for i := range requests {
		r := &requests[i]
		switch {
		case r.Units() > 1 || needsStore(r):
		case last >= 0 && samePath(&requests[last], r):
			decisions[i] = decisions[last]
		default:
			var refresh bool
			decisions[i], refresh = c.lookUp(r, now)
			due = due || refresh
			last = i
		}
	}
	startRefresh = due && !c.refreshing
	c.refreshing = c.refreshing || due
	return startRefresh
}

// lookUp returns the drop of a request that does not fit, and whether the entries that refuse it are due for a refresh. For
// any other request it returns the zero decision. The caller holds mu.
func (c *closedCache) lookUp(r *store.Request, now time.Time) (d store.Decision, due bool) {
	hit := func(key closedKey, level string) {
		if e := c.entries[key]; e != nil && now.Before(e.until) {
			e.refuse(&d, level, now)
			e.keepRequest(r)
			due = due || !now.Before(e.refresh)
		}
	}
	for i := range r.Levels {
		if !r.Levels[i].Shadow {
			hit(levelKey(&r.Levels[i]), r.Levels[i].Name)
		}
	}
	if len(d.Refused) == 0 && restricted(r) {
		hit(pathKey(r), r.Levels[0].Name)
	}
	return d, due
}

// refuse adds a level's refusal to a decision. The outermost level comes first.
func (e *closedEntry) refuse(d *store.Decision, level string, now time.Time) {
	if len(d.Refused) == 0 {
		d.Outcome = store.Dropped
		d.DecidedBy = store.ByClosedCache
		d.Durable = true
		d.Level = level
		d.Window = e.window
		d.Refused = make([]string, 0, usualLevels)
	}
	d.Refused = append(d.Refused, level)
	d.RetryAfter = max(d.RetryAfter, e.reopens.Sub(now))
}

func (e *closedEntry) keepRequest(r *store.Request) {
	if e.request != nil {
		return
	}
	request := *r
	request.Enqueue = nil
	request.Source = nil
	request.Policy = nil
	e.request = &request
}

// learnClosed remembers what an answer shows to be closed, in place of what was asked about. asked is when the call began.
func (ch *channel) learnClosed(a store.Answer, requests []store.Request, asked time.Time, about ...closedKey) {
	if ch.opts.MaxStale < 0 {
		return
	}
	stale := ch.limiter.stretch(ch.opts.MaxStale)
	ch.closed.mu.Lock()
	defer ch.closed.mu.Unlock()
	for _, key := range about {
		delete(ch.closed.entries, key)
	}
	ch.closed.removeEnded(asked)
	for _, level := range a.Closed {
		believed := shortened(level.For)
		if !level.Level.Strategy.Monotone() {
			believed = min(believed, earlyEnd)
		}
		window := level.Level.Windows[max(0, level.Window)]
		ch.closed.put(levelKey(level.Level), newClosedEntry(asked, min(believed, stale), level.For, window))
	}
	for i := range a.Decisions {
		r, d := &requests[i], &a.Decisions[i]
		if d.Outcome == store.Dropped && d.Level == ratelimit.LevelChannel && restricted(r) && r.Units() == 1 {
			window := r.Levels[0].Windows[max(0, slices.Index(r.Levels[0].Windows, d.Window))]
			ch.closed.put(pathKey(r), newClosedEntry(asked, min(shortened(d.RetryAfter), stale), d.RetryAfter, window))
		}
	}
}

// shortened is a time of the store as far as this process's clock can be trusted to measure it.
func shortened(d time.Duration) time.Duration { return d - d/clockDrift - clockMargin }

// newClosedEntry returns the entry of what was found to be closed for a time, and is believed to be; nil = not at all.
func newClosedEntry(asked time.Time, believed, closed time.Duration, window ratelimit.Window) *closedEntry {
	if believed <= 0 {
		return nil
	}
	return &closedEntry{
		until:   asked.Add(believed),
		reopens: asked.Add(closed),
		refresh: asked.Add(believed * refreshPercent / 100),
		window:  window,
	}
}

// put replaces an entry; nil removes it. The caller holds mu.
func (c *closedCache) put(key closedKey, e *closedEntry) {
	if e == nil || len(c.entries) > 2*maxClosed {
		delete(c.entries, key)
		return
	}
	if c.entries == nil {
		c.entries = map[closedKey]*closedEntry{}
	}
	c.entries[key] = e
}

// removeEnded removes the entries that ended, where there are many. The caller holds mu.
func (c *closedCache) removeEnded(now time.Time) {
	if len(c.entries) <= maxClosed {
		return
	}
	for key, e := range c.entries {
		if !now.Before(e.until) {
			delete(c.entries, key)
		}
	}
}

// needsStore reports whether only the store can decide a request, because it may spend no slot.
func needsStore(r *store.Request) bool {
	h := r.Policy
	if h == nil {
		return false
	}
	if h.Overflow != store.OverflowDrop || r.Event.InGroup() {
		return true
	}
	fingerprinted := r.Event.Fingerprinted || r.Event.Fingerprint != ""
	switch r.Event.Status {
	case store.Resolved, store.Update:
		return fingerprinted
	case store.Firing:
		return fingerprinted && h.Repeats
	default:
		return false
	}
}
