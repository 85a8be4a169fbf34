package memory

import (
	"maps"
	"slices"
)

// Digest is what the next digest will say, and the one that is open; see lua/digest.lua.
type Digest struct {
	Since, Last, Noted int64
	Counts             map[string]int64
	Open               int64 // since when one is open; 0 = none is
	ID                 string
	Post, Edit, Moved  int64
	From               int64
	Totals             map[string]int64
}

// Bounds of what a digest notes: titles must not crowd out counts.
const (
	maxNoted  = 1000
	maxTitled = 300
)

// Note notes what was dropped or expired, for the next digest.
func (d *Digest) Note(now int64, counts map[string]int64) {
	if d.Counts == nil {
		d.Counts = map[string]int64{}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		title := name[:2] == "t:"
		if !title {
			d.Noted += counts[name]
			d.Last = now
			if d.Since == 0 {
				d.Since = now
			}
		}
		_, known := d.Counts[name]
		switch {
		case known || len(d.Counts) < maxTitled || !title && len(d.Counts) < maxNoted:
			d.Counts[name] += counts[name]
		case !title:
			d.Counts[name[:2]+"other:warning"] += counts[name]
		}
	}
}

// Told is when each category was last admitted.
type Told struct{ at map[string]int64 }

// Admit notes an admission, and forgets those before a time.
func (h *Told) Admit(category string, now, forget int64) {
	if h.at == nil {
		h.at = map[string]int64{}
	}
	h.at[category] = now
	maps.DeleteFunc(h.at, func(_ string, at int64) bool { return at <= forget })
}

// When is the last admission; 0 = none is known. It works on nil.
func (h *Told) When(category string) int64 {
	if h == nil {
		return 0
	}
	return h.at[category]
}

// Bounds of what is recorded of a channel, in bytes, as the scripts have them.
const (
	MaxDropBytes    = 16 << 20
	MaxDeadBytes    = 8 << 20
	MaxDelayedBytes = 8 << 20
	RecordBytes     = 256 // of a record beside its event
)
