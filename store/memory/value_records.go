package memory

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the records of a channel, in bytes, as in the scripts.
const (
	maxDropBytes   = 16 << 20
	maxDeadBytes   = 8 << 20
	recordOverhead = 256 // of a record beside its event
)

// records are the newest dropped events, or the dead letters, of a channel, oldest first.
type records[R any] struct {
	last  int64 // the number of the newest record ever
	bytes int
	all   []*record[R]
}

type record[R any] struct {
	number int64
	bytes  int
	value  R
}

// nextID returns the id of the next record, in the shape of the id of an item in a stream of Redis.
func (l *records[R]) nextID(at time.Time) string {
	return fmt.Sprintf("%d-%d", at.UnixMilli(), l.last+1)
}

// add keeps a record of an event. At most keep records stay, the newest, and of these at most maxBytes.
func (l *records[R]) add(value R, event []byte, keep int64, maxBytes int) {
	l.last++
	added := &record[R]{number: l.last, bytes: len(event) + recordOverhead, value: value}
	l.all = append(l.all, added)
	l.bytes += added.bytes
	excess := 0
	for ; excess < len(l.all) && (len(l.all)-excess > int(keep) || l.bytes > maxBytes); excess++ {
		l.bytes -= l.all[excess].bytes
	}
	l.all = slices.Delete(l.all, 0, excess)
}

// remove deletes the records that match, and returns how many there were.
func (l *records[R]) remove(matches func(R) bool) (n int) {
	l.all = slices.DeleteFunc(l.all, func(r *record[R]) bool {
		if !matches(r.value) {
			return false
		}
		l.bytes -= r.bytes
		n++
		return true
	})
	return n
}

// page returns up to limit records that are older than the one with the id before ("" = all), newest first.
func (l *records[R]) page(before string, limit int) (page []R) {
	until := recordNumber(before)
	for _, r := range slices.Backward(l.all) {
		if r.number < until && len(page) < limit {
			page = append(page, r.value)
		}
	}
	return page
}

// recordNumber returns the number in an id: one above all records where the id is "", and 0 where it is not valid.
func recordNumber(id string) int64 {
	if id == "" {
		return math.MaxInt64
	}
	_, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
