package memory

import (
	"cmp"
	"maps"
	"slices"

	"slackrelay/store"
)

// Posted are the records of what was admitted, by number, and the numbers that fingerprints ("f:...") and
// categories ("c:...") stand for.
type Posted struct {
	Records map[int64]*store.PostedMessage
	Newest  map[string]int64
	touched map[int64]int64
}

// Touch keeps a record.
func (p *Posted) Touch(number int64, record *store.PostedMessage, now int64) {
	if p.Records == nil {
		p.Records, p.Newest, p.touched = map[int64]*store.PostedMessage{}, map[string]int64{}, map[int64]int64{}
	}
	p.Records[number], p.touched[number] = record, now
}

// maxPostedBytes is how long the records may be together, as the scripts have it.
const maxPostedBytes = 32 << 20

// Prune forgets what was not touched since a time, and the oldest where the records are too long together.
func (p *Posted) Prune(until int64) {
	bytes := 0
	for old, at := range p.touched {
		if at <= until {
			p.Forget(old)
		} else {
			bytes += recordSize(p.Records[old])
		}
	}
	if bytes <= maxPostedBytes {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(p.touched), func(a, b int64) int {
		return cmp.Or(cmp.Compare(p.touched[a], p.touched[b]), cmp.Compare(a, b))
	})
	for _, number := range oldest {
		if bytes <= maxPostedBytes {
			return
		}
		bytes -= recordSize(p.Records[number])
		p.Forget(number)
	}
}

// sizeOf is about how long a record is.
func recordSize(r *store.PostedMessage) int {
	size := RecordBytes
	for i := range r.Events {
		size += len(r.Events[i].Payload)
	}
	return size
}

// Forget forgets a record, and what stands for it.
func (p *Posted) Forget(number int64) {
	delete(p.Records, number)
	delete(p.touched, number)
	maps.DeleteFunc(p.Newest, func(_ string, n int64) bool { return n == number })
}

// Find is the record that a fingerprint or a category stands for, and its number; nil where there is none.
func (p *Posted) Find(name string) (int64, *store.PostedMessage) {
	number := p.Newest[name]
	return number, p.Records[number]
}

// Record is the record of a number, or nil. It works on nil.
func (p *Posted) Record(number int64) *store.PostedMessage {
	if p == nil {
		return nil
	}
	return p.Records[number]
}
