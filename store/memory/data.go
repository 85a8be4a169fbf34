package memory

import (
	"sync"
	"time"

	"slackrelay/store"
)

// sweepEvery is how often, in store time, expired values are removed.
const sweepEvery = int64(time.Minute / time.Microsecond)

// DataOptions configure the clock of [Data]. The zero value is the wall clock:
//
//	memory.NewData(memory.DataOptions{Now: func() time.Time { return start.Add(elapsed) }})
type DataOptions struct {
	// Now is the clock. Default [time.Now].
	Now func() time.Time
	// Speed makes store time pass faster than Now, counted from the creation of the Data: a demonstration plays half an
	// hour in seconds that way. Default 1.
	Speed float64
}

// Data is the stand-in for the database of Redis: one lock, one clock, and values by the same keys. Any number of
// stores may share it. The zero value is not usable; see [NewData].
type Data struct {
	now   func() time.Time
	start time.Time
	speed float64

	mu      sync.Mutex
	values  map[string]*item
	sweepAt int64
}

// item is the value of a key, a pointer or a map, and when it expires.
type item struct {
	value     any
	expiresAt int64 // microseconds; 0 = never
}

func (i *item) expired(now int64) bool { return i.expiresAt != 0 && i.expiresAt <= now }

// NewData makes an empty Data.
func NewData(opts DataOptions) *Data {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Speed == 0 {
		opts.Speed = 1
	}
	return &Data{now: opts.Now, start: opts.Now(), speed: opts.Speed, values: map[string]*item{}}
}

// wall converts a duration of store time into wall time.
func (d *Data) wall(storeTime time.Duration) time.Duration {
	return time.Duration(float64(storeTime) / d.speed)
}

// Do runs f as one atomic step, as Redis runs a script: nobody else reads or writes meanwhile. The Tx is valid until f
// returns.
func (d *Data) Do(f func(tx *Tx)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	elapsed := d.now().Sub(d.start)
	now := d.start.Add(time.Duration(float64(elapsed) * d.speed))
	tx := &Tx{data: d, time: now, now: now.UnixMicro()}
	d.sweep(tx.now)
	f(tx)
}

func (d *Data) sweep(now int64) {
	if now < d.sweepAt {
		return
	}
	d.sweepAt = now + sweepEvery
	for key, i := range d.values {
		if i.expired(now) {
			delete(d.values, key)
		}
	}
}

// Tx is one atomic step on [Data]. The clock is read once for the whole step.
type Tx struct {
	data *Data
	time time.Time
	now  int64 // the same time in microseconds since 1970
}

// expire lets the value of key expire after a duration of store time.
func (tx *Tx) expire(key string, after time.Duration) {
	if i, ok := tx.data.values[key]; ok {
		i.expiresAt = tx.now + after.Microseconds()
	}
}

// put keeps value, a pointer or a map, under key. It never expires, unless expire is called after it.
func (tx *Tx) put(key string, value any) { tx.data.values[key] = &item{value: value} }

// keepSlack is how much too early an expiry may be that is not renewed, as in the scripts.
const keepSlack = 10 * time.Second

// keep keeps value under key for a duration of store time, or for as long as the key is kept already.
func (tx *Tx) keep(key string, value any, after time.Duration) {
	i, ok := tx.data.values[key]
	if !ok || i.expired(tx.now) {
		i = &item{expiresAt: tx.now}
		tx.data.values[key] = i
	}
	i.value = value
	if left := store.Microseconds(i.expiresAt - tx.now); left < after-keepSlack {
		tx.expire(key, after)
	}
}

// replace keeps value under key, with the expiry that the key has. Where the key is absent, it stays absent.
func (tx *Tx) replace(key string, value any) {
	if i, ok := tx.data.values[key]; ok {
		i.value = value
	}
}

// remove deletes the value of key.
func (tx *Tx) remove(key string) { delete(tx.data.values, key) }

// get returns the value of key, or nil. What has expired is deleted: it does not come back where the clock goes back.
func (tx *Tx) get(key string) any {
	i, ok := tx.data.values[key]
	if !ok {
		return nil
	}
	if i.expired(tx.now) {
		delete(tx.data.values, key)
		return nil
	}
	return i.value
}

// Look returns the value of key, or nil where there is none.
func Look[T any](tx *Tx, key string) *T {
	t, _ := tx.get(key).(*T) // the name of a key gives it its one type
	return t
}

// kept returns the value of key. Where there is none, it keeps an empty one.
func kept[T any](tx *Tx, key string) *T {
	if t := Look[T](tx, key); t != nil {
		return t
	}
	t := new(T)
	tx.put(key, t)
	return t
}

// look returns the numbers of key, counts or times by name. It returns nil where there are none.
func (tx *Tx) look(key string) map[string]int64 {
	numbers, _ := tx.get(key).(map[string]int64)
	return numbers
}

// numbers returns the numbers of key, counts or times by name. Where there are none, it keeps an empty map.
func (tx *Tx) numbers(key string) map[string]int64 {
	numbers := tx.look(key)
	if numbers == nil {
		numbers = map[string]int64{}
		tx.put(key, numbers)
	}
	return numbers
}
