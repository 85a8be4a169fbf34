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

// mix adds a value to a hash.
func mix[T comparable](hash uint64, value T) uint64 {
	return maphash.Comparable(hashSeed, struct {
		hash  uint64
		value T
	}{hash, value})
}

func levelKey(l *ratelimit.Level) closedKey { return closedKey{level: l.Key, hash: mixLevel(0, l)} }

func mixLevel(hash uint64, l *ratelimit.Level) uint64 {
	hash = mix(hash, l.Option())
	for _, w := range l.Windows {
		hash = mix(hash, w)
	}
	return hash
}

// pathKey is a request's path: its category and levels, with what they reserve for others.
func pathKey(r *store.Request) closedKey {
	hash := mix(0, r.Headroom)
	for i := range r.Levels {
		hash = mixLevel(mix(hash, r.Levels[i].Key), &r.Levels[i])
	}
	if r.Fairness.Enabled() {
		hash = mix(hash, r.Fairness.FirstNotice)
		for _, reserve := range r.Fairness.Reserves {
			hash = mix(mix(hash, reserve.Category), reserve.Slots)
		}
	}
	return closedKey{category: r.Category, hash: hash}
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
