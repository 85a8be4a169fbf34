package storetest

import (
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Oracle decides by brute force: it keeps everything that ever happened, and recounts it for each question.
type Oracle struct {
	Now      int64
	Admitted []Admission
	attempts []attempt
	refunds  int
}

// Admission is a request that was admitted. Times are microseconds.
type Admission struct {
	At       int64
	ID       string
	category string
	Units    int64
	Keys     []string
	refunded bool
	returned int  // where it was refunded, its place among the refunds
	before   int  // and how many were admitted before that
	left     bool // settled, so that it is not in a backlog any more
}

type attempt struct {
	at       int64
	category string
}

// of lists what a level admitted, in order, with what was refunded.
func (o *Oracle) of(key string) []Admission { return onKey(o.Admitted, key) }

func onKey(admissions []Admission, key string) []Admission {
	var all []Admission
	for _, a := range admissions {
		for _, k := range a.Keys {
			if k == key {
				all = append(all, a)
			}
		}
	}
	return all
}

// Between counts the units of a level with from <= at < to.
func (o *Oracle) Between(key string, from, to int64) (n int64) {
	for _, a := range o.of(key) {
		if a.At >= from && a.At < to && !a.refunded {
			n += a.Units
		}
	}
	return n
}

func (o *Oracle) fits(r store.Request, at int64) bool {
	for i, level := range r.Levels {
		if level.Shadow {
			continue
		}
		for j, w := range level.Windows {
			var kept int64
			if i == 0 && j == 0 {
				kept = o.reserved(r, at)
			}
			if o.Left(level, w, at)-kept < r.N {
				return false
			}
		}
	}
	return true
}

func (o *Oracle) decide(r store.Request) store.Outcome {
	for _, a := range o.Admitted {
		if a.ID == r.ID && a.At > o.Now-time.Hour.Microseconds() {
			return store.Duplicate
		}
	}
	o.attempts = append(o.attempts, attempt{o.Now, r.Category})
	if canNeverFit(r) {
		return store.Never
	}
	if !o.fits(r, o.Now) {
		return store.Dropped
	}
	a := Admission{At: o.Now, ID: r.ID, category: r.Category, Units: r.N}
	for _, level := range r.Levels {
		if !level.Shadow || o.fits(store.Request{Request: ratelimit.Request{N: r.N, Levels: []ratelimit.Level{visible(level)}}}, o.Now) {
			a.Keys = append(a.Keys, level.Key)
		}
	}
	o.Admitted = append(o.Admitted, a)
	return store.Admitted
}

func canNeverFit(r store.Request) bool {
	for i, level := range r.Levels {
		for j, w := range level.Windows {
			if r.N > capacity(level, w) && !level.Shadow || i == 0 && j == 0 && r.Headroom > 0 && r.N+r.Headroom > w.Limit {
				return true
			}
		}
	}
	return false
}

func visible(level ratelimit.Level) ratelimit.Level {
	level.Shadow = false
	return level
}

// Refund marks the youngest admission of an id as refunded.
func (o *Oracle) Refund(id string) {
	for i := range o.Admitted {
		if a := &o.Admitted[i]; a.ID == id && !a.refunded {
			o.refunds++
			a.refunded, a.returned, a.before = true, o.refunds, len(o.Admitted)
		}
	}
}

func (o *Oracle) reset(key string) {
	for i := range o.Admitted {
		for k := range o.Admitted[i].Keys {
			if o.Admitted[i].Keys[k] == key {
				o.Admitted[i].Keys[k] = ""
			}
		}
	}
}
