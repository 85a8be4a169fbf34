package replica

import (
	"hash/maphash"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// closedKey is what can be closed: a level with its windows, or one path of requests through their levels. Its hash is of
// the configuration too, so that a changed one finds nothing.
type closedKey struct {
	level    string // key of the level; "" = a path
	category string // of a path
	hash     uint64
}

var hashSeed = maphash.MakeSeed()

const hashPrime = 1099511628211 // of FNV-1a

func levelKey(l *ratelimit.Level) closedKey { return closedKey{level: l.Key, hash: hashLevel(l)} }

func hashLevel(l *ratelimit.Level) uint64 {
	h := uint64(14695981039346656037)
	mix := func(n uint64) { h = (h ^ n) * hashPrime }
	for _, w := range l.Windows {
		mix(uint64(w.Limit)) //nolint:gosec // any bits will do
		mix(uint64(w.Per))   //nolint:gosec // any bits will do
	}
	mix(uint64(l.Option())) //nolint:gosec // any bits will do
	return h
}

// pathKey is a request's path: its category and levels, with what they reserve for others.
func pathKey(r *store.Request) closedKey {
	h := uint64(r.Headroom)*31 + 1 //nolint:gosec // any bits will do
	for i := range r.Levels {
		h = (h^maphash.String(hashSeed, r.Levels[i].Key))*hashPrime + hashLevel(&r.Levels[i])
	}
	if r.Fairness.Enabled() {
		h = hashFairness(h, r.Fairness)
	}
	return closedKey{category: r.Category, hash: h}
}

func hashFairness(h uint64, f *ratelimit.Fairness) uint64 {
	first := f.FirstNotice
	h = (h ^ uint64(first.Slots<<32+first.PerCategory<<16+first.Floor)) * hashPrime //nolint:gosec // any bits will do
	if first.Auto {
		h++
	}
	for _, reserve := range f.Reserves {
		h = (h^maphash.String(hashSeed, reserve.Category))*hashPrime + uint64(reserve.Slots) //nolint:gosec // any bits will do
	}
	return h
}

// restricted reports whether more than its levels can close a request.
func restricted(r *store.Request) bool { return r.Headroom > 0 || r.Fairness.Enabled() }

// samePath reports whether two requests go through the very same levels, with the same reserved for others.
func samePath(r, other *store.Request) bool {
	return sameLevels(r, other) && r.Category == other.Category && r.Headroom == other.Headroom && r.Fairness == other.Fairness
}

// sameLevels reports whether two requests have one and the same list of levels.
func sameLevels(r, other *store.Request) bool {
	return len(r.Levels) > 0 && len(r.Levels) == len(other.Levels) && &r.Levels[0] == &other.Levels[0]
}
