// Package memstore is the in-memory stand-in for Redis: one lock, one clock, and values by key.
//
// The in-memory twins of the limiter and of the outbox share one Store, so that admission and settling
// are as atomic there as they are inside a Redis script. It is the engine when no Redis is configured.
// It is not durable: what it holds ends with the process.
package memory

import (
	"sync"
	"time"
)

// sweepEvery is how often, in store time, expired values are removed.
const sweepEvery = int64(time.Minute / time.Microsecond)

// Options say which time a Store lives in.
type DataOptions struct {
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Speed makes store time pass faster than Now, counted from the Store's creation; a demonstration
	// plays half an hour in seconds that way. Default 1.
	Speed float64
}

// Store holds values by key. The zero value is not usable; see [New].
type Data struct {
	now   func() time.Time
	start time.Time
	speed float64

	mu      sync.Mutex
	values  map[string]*value
	sweepAt int64
}

type value struct {
	v         any
	expiresAt int64 // microseconds; 0 = never
}

// New makes an empty Store.
func NewData(opts DataOptions) *Data {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Speed == 0 {
		opts.Speed = 1
	}
	return &Data{now: opts.Now, start: opts.Now(), speed: opts.Speed, values: map[string]*value{}}
}

// Wall converts a duration of store time into one of the clock on the wall.
func (s *Data) Wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.speed)
}

// Do runs f as one atomic step: nobody else reads or writes the Store meanwhile. The Tx ends with f.
func (s *Data) Do(f func(tx *Tx)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := s.now().Sub(s.start)
	now := s.start.Add(time.Duration(float64(elapsed) * s.speed))
	tx := &Tx{store: s, Time: now, Now: now.UnixMicro()}
	s.sweep(tx.Now)
	f(tx)
}

func (s *Data) sweep(now int64) {
	if now < s.sweepAt {
		return
	}
	s.sweepAt = now + sweepEvery
	for key, v := range s.values {
		if v.expired(now) {
			delete(s.values, key)
		}
	}
}

func (v *value) expired(now int64) bool { return v.expiresAt != 0 && v.expiresAt <= now }

// Tx is one atomic step on a Store.
type Tx struct {
	store *Data
	// Time is store time, read once for the whole step; Now is the same in microseconds since 1970.
	Time time.Time
	Now  int64
}

// Expire makes the value of key vanish after the given store time.
func (tx *Tx) Expire(key string, after time.Duration) {
	if v, ok := tx.store.values[key]; ok {
		v.expiresAt = tx.Now + after.Microseconds()
	}
}

// Put keeps v, a pointer, as the value of key; it has no end until Expire gives it one.
func (tx *Tx) Put(key string, v any) { tx.store.values[key] = &value{v: v} }

// Replace keeps v, a pointer, as the value of key with the end that it has; where there is none, nothing is kept.
func (tx *Tx) Replace(key string, v any) {
	if old, ok := tx.store.values[key]; ok {
		old.v = v
	}
}

// Delete removes the value of key.
func (tx *Tx) Delete(key string) { delete(tx.store.values, key) }

// look returns the value of key, or nil where there is none.
func (tx *Tx) look(key string) any {
	v, ok := tx.store.values[key]
	if !ok || v.expired(tx.Now) {
		return nil
	}
	return v.v
}

// Look returns the value of key, or nil where there is none.
func Look[T any](tx *Tx, key string) *T {
	t, _ := tx.look(key).(*T) // a key has one type, given by its name
	return t
}

// Value returns the value of key and makes an empty one where there is none.
func Value[T any](tx *Tx, key string) *T {
	if t := Look[T](tx, key); t != nil {
		return t
	}
	t := new(T)
	tx.store.values[key] = &value{v: t}
	return t
}

// LookOrNew returns the value of key, or an empty one that is not kept: see [Tx.Put].
func LookOrNew[T any](tx *Tx, key string) *T {
	if t := Look[T](tx, key); t != nil {
		return t
	}
	return new(T)
}
