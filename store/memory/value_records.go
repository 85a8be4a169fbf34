package memory

import (
	"fmt"
	"slices"
	"time"

	"slackrelay/store"
)

// Bounds of the records of a channel, in bytes, as in the scripts.
const (
	maxDropBytes   = 16 << 20
	maxDeadBytes   = 8 << 20
	recordOverhead = 256 // of a record beside its event
)

// deadLetters are the entries that were buried, oldest first.
type deadLetters struct {
	last int64
	all  []store.DeadLetter
}

// add keeps a dead letter. At most keep letters stay, the newest, and of these at most maxDeadBytes.
func (d *deadLetters) add(letter store.DeadLetter, keep int64) {
	d.last++
	letter.ID = recordID(letter.At, d.last)
	d.all = append(d.all, letter)
	first, bytes := len(d.all), 0
	for ; first > 0 && len(d.all)-first < int(keep); first-- {
		if bytes += len(d.all[first-1].Payload) + recordOverhead; bytes > maxDeadBytes {
			break
		}
	}
	d.all = slices.Delete(d.all, 0, first)
}

// recordID has the shape of the id of an item in a stream of Redis.
func recordID(at time.Time, number int64) string { return fmt.Sprintf("%d-%d", at.UnixMilli(), number) }

// dropLog are the newest records of dropped events, oldest first.
type dropLog struct {
	last  int64
	bytes int
	all   []dropRecord
}

// dropRecord is one dropped event, with the fields that the scripts give a record.
type dropRecord struct {
	id     int64 // ascending
	at     time.Time
	fields map[string]string
}

func (d dropRecord) bytes() int { return len(d.fields["event"]) + recordOverhead }

// add keeps a record. At most keep records stay, and at most maxDropBytes.
func (l *dropLog) add(at time.Time, keep int64, fields map[string]string) {
	l.last++
	record := dropRecord{id: l.last, at: at, fields: fields}
	l.all = append(l.all, record)
	l.bytes += record.bytes()
	excess := 0
	for ; len(l.all)-excess > int(keep) || l.bytes > maxDropBytes; excess++ {
		l.bytes -= l.all[excess].bytes()
	}
	l.all = slices.Delete(l.all, 0, excess)
}
