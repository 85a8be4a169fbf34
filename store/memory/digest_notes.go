package memory

import (
	"maps"
	"slices"
	"strings"

	"slackrelay/store"
)

// A digest has a bounded number of fields, and titles must not crowd out counts.
const (
	maxDigestFields         = 1000
	maxDigestFieldsForTitle = 300
)

// digestState is what the next digest reports, and the digest that is open. Times are microseconds.
type digestState struct {
	since  int64 // the first event that no digest reports yet; 0 = there is none
	last   int64 // the last one
	events int64 // how many there are
	counts map[string]int64

	open   int64 // when the open digest was posted; 0 = none is open
	id     string
	post   int64 // the number of its entry
	edit   int64 // the number of its last edit
	moved  int64 // when it was last updated
	from   int64 // its first event
	totals map[string]int64
}

// noteForDigest counts for the next digest. The names of counts are those of [store.Digest.Counts].
func (tx channelTx) noteForDigest(digestCounts map[string]int64) {
	if len(digestCounts) == 0 {
		return
	}
	digest := tx.digest()
	isFirst := digest.since == 0
	digest.note(tx.now, digestCounts)
	if isFirst && digest.since > 0 {
		tx.lookNow(store.WorkSend)
	}
}

func (d *digestState) note(now int64, digestCounts map[string]int64) {
	if d.counts == nil {
		d.counts = map[string]int64{}
	}
	for _, name := range slices.Sorted(maps.Keys(digestCounts)) {
		n, isTitle := digestCounts[name], strings.HasPrefix(name, "t:")
		if !isTitle {
			d.events += n
			d.last = now
			if d.since == 0 {
				d.since = now
			}
		}
		_, known := d.counts[name]
		switch {
		case known || len(d.counts) < maxDigestFieldsForTitle || !isTitle && len(d.counts) < maxDigestFields:
			d.counts[name] += n
		case !isTitle:
			d.counts[name[:2]+otherCategory+":warning"] += n
		}
	}
}
