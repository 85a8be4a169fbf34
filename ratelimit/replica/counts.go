package replica

import (
	"cmp"
	"sync"

	"slackrelay/store"
)

// counts are what this process decided by itself and the store does not know yet. They are merged into the shared ledger in
// batches with a sequence number. A batch that was merged before changes nothing, so that one whose fate is unknown is
// simply sent again. The batches of a channel are sent one after the other.
type counts struct {
	mu         sync.Mutex
	totals     map[string]int64 // by the names of the ledger
	categories map[string]int64 // dropped, by category
	digest     map[string]int64 // for the digest, bounded
	drops      dropLog
	learn      bool            // the categories count as attempted; see store.LocalCounts
	restored   []store.Request // admitted by the fallback, and not in the store yet
	scheduled  bool            // a merge is

	sending     sync.Mutex
	sequence    int64       // of the last batch
	unconfirmed *countBatch // sent, but not known to have arrived; guarded by sending
}

// count counts a decision of this process, and schedules a merge.
func (ch *channel) count(r *store.Request, d *store.Decision) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	ch.counts.add(r, d, 1)
	if d.Outcome != store.Duplicate {
		ch.counts.drops.add(r, d)
	}
	ch.scheduleMerge()
}

// countMuted counts n muted events, and schedules a merge.
func (ch *channel) countMuted(n int64) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	ch.counts.init()
	ch.counts.totals["received"] += n
	ch.counts.totals["muted"] += n
	ch.scheduleMerge()
}

// countClosed counts what the closed cache refused, runs of alike drops at once, and schedules a merge.
func (ch *channel) countClosed(requests []store.Request, decisions []store.Decision) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for first := 0; first < len(requests); {
		end := first + 1
		for end < len(requests) && countsAs(&requests[end], &requests[first]) && decidedAs(&decisions[end], &decisions[first]) {
			end++
		}
		if decisions[first].DecidedBy == store.ByClosedCache {
			ch.counts.add(&requests[first], &decisions[first], int64(end-first))
			for i := first; i < end; i++ {
				ch.counts.drops.add(&requests[i], &decisions[i])
			}
		}
		first = end
	}
	ch.scheduleMerge()
}

// countsAs reports whether the drops of two requests are one count.
func countsAs(r, other *store.Request) bool {
	return r.Category == other.Category && r.Event.Severity == other.Event.Severity && r.Event.Status == other.Event.Status &&
		r.Event.Title == other.Event.Title
}

// decidedAs reports whether two decisions are one count of drops.
func decidedAs(d, other *store.Decision) bool {
	return d.DecidedBy == other.DecidedBy && d.Level == other.Level
}

// init makes the maps of a batch. The caller holds mu.
func (c *counts) init() {
	if c.totals == nil {
		c.totals = map[string]int64{}
		c.categories = map[string]int64{}
		c.digest = map[string]int64{}
	}
}

// add counts n requests like r that were decided as d: duplicates, or drops. The caller holds mu.
func (c *counts) add(r *store.Request, d *store.Decision, n int64) {
	c.init()
	c.totals["received"] += n
	c.learn = c.learn || r.Fairness.Enabled() && r.Fairness.FirstNotice.Auto
	if d.Outcome == store.Duplicate {
		c.totals["duplicate"] += n
		return
	}
	c.totals["dropped"] += n
	category := r.Category
	if _, ok := c.categories[category]; !ok && len(c.categories) >= store.MaxCategories {
		category = store.OtherCategory
	}
	c.categories[category] += n
	if r.Policy != nil && r.Policy.Digest {
		r.AddDigestCounts(c.digest, cmp.Or(d.Outcome.Reason(), d.Level), n)
	}
}
