package storetest

import (
	"cmp"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// Left is how many units fit into a window at a time, if nothing else happens until then.
func (o *Oracle) Left(level ratelimit.Level, w ratelimit.Window, at int64) int64 {
	per := w.Per.Microseconds()
	switch level.Strategy.Kind {
	case ratelimit.SlidingBuckets:
		width, used := level.Strategy.Bucket.Microseconds(), int64(0)
		for _, a := range o.of(level.Key) {
			if end := (a.At/width + 1) * width; end > at-per && !a.refunded {
				used += a.Units
			}
		}
		return w.Limit - used
	case ratelimit.FixedWindow:
		return w.Limit - o.inFixedWindow(level, per, at)
	case ratelimit.SlidingCounter:
		start := at / per * per
		before := new(big.Rat).SetFrac64(o.Between(level.Key, start-per, start)*(per-(at-start)), per)
		share := new(big.Int).Div(new(big.Int).Add(before.Num(), new(big.Int).Sub(before.Denom(), big.NewInt(1))), before.Denom())
		return w.Limit - share.Int64() - o.Between(level.Key, start, start+per)
	case ratelimit.GCRA:
		return o.tokens(level.Key, w, level.Strategy.Burst, at)
	case ratelimit.Gate:
		return o.tokens(level.Key, w, 1, at)
	case ratelimit.Backlog:
		waiting := int64(0)
		for _, a := range o.of(level.Key) {
			if !a.left {
				waiting += a.Units
			}
		}
		return w.Limit - waiting
	default:
		return w.Limit - o.Between(level.Key, at-per+1, at+1)
	}
}

// inFixedWindow replays the windows: each begins with the first unit after the last one, or on the grid.
func (o *Oracle) inFixedWindow(level ratelimit.Level, per, at int64) int64 {
	if level.Strategy.Anchor == ratelimit.Aligned {
		phase := level.GridPhase()
		start := (at+phase)/per*per - phase
		return o.Between(level.Key, start, start+per)
	}
	var w fixed
	for i, a := range o.Admitted {
		for _, r := range refundsAt(o.Admitted, i) {
			w.refund(r, per, slices.Contains(r.Keys, level.Key))
		}
		if slices.Contains(a.Keys, level.Key) {
			w.spend(a, per)
		}
	}
	for _, r := range refundsAt(o.Admitted, len(o.Admitted)) {
		w.refund(r, per, slices.Contains(r.Keys, level.Key))
	}
	if !w.runs || at >= w.start+per {
		return 0
	}
	return w.n
}

// refundsAt lists what was refunded when so many were admitted, in order.
func refundsAt(all []Admission, admitted int) (refunded []Admission) {
	for _, a := range all {
		if a.refunded && a.before == admitted {
			refunded = append(refunded, a)
		}
	}
	slices.SortFunc(refunded, func(a, b Admission) int { return a.returned - b.returned })
	return refunded
}

// fixed is a window that begins with its first unit, and never has less than one there.
type fixed struct {
	runs            bool
	start, n, first int64
}

func (w *fixed) spend(a Admission, per int64) {
	if !w.runs || a.At >= w.start+per || w.n == 0 {
		*w = fixed{runs: true, start: a.At}
	}
	w.n += a.Units
	if a.At == w.start {
		w.first += a.Units
	}
}

func (w *fixed) refund(a Admission, per int64, own bool) {
	if !own || !w.runs || a.At < w.start || a.At >= w.start+per {
		return
	}
	w.n -= a.Units
	if a.At == w.start {
		if w.first -= a.Units; w.first == 0 && w.n > 0 {
			w.first, w.n = 1, w.n+1
		}
	}
}

// tokens replays a bucket in which one token appears every W/L, rounded up.
func (o *Oracle) tokens(key string, w ratelimit.Window, burst, at int64) int64 {
	if w.Limit == 0 {
		return 0
	}
	each := (w.Per.Microseconds() + w.Limit - 1) / w.Limit
	debt, last := int64(0), int64(0) // microseconds until the bucket is full again
	for _, a := range o.of(key) {
		debt = max(0, debt-(a.At-last)) + a.Units*each
		last = a.At
	}
	debt = max(0, debt-(at-last))
	return (burst*each - debt) / each // debt never exceeds a full bucket
}

func capacity(level ratelimit.Level, w ratelimit.Window) int64 {
	switch {
	case w.Limit == 0:
		return 0
	case level.Strategy.Kind == ratelimit.GCRA:
		return level.Strategy.Burst
	case level.Strategy.Kind == ratelimit.Gate:
		return 1
	default:
		return w.Limit
	}
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

// reserved is how many units of the channel the request must leave free.
func (o *Oracle) reserved(r store.Request, at int64) int64 {
	kept := r.Headroom
	if r.Fairness == nil {
		return kept
	}
	per := r.Levels[0].Windows[0].Per.Microseconds()
	reserved := int64(0)
	for _, reserve := range r.Fairness.Reserves {
		if reserve.Category != r.Category {
			reserved += max(0, reserve.Slots-o.Between(reserve.Level.Key, at-per+1, at+1))
		}
	}
	kept = max(kept, reserved)
	first := r.Fairness.FirstNotice
	if first.Slots > 0 && o.Between(r.Levels[1].Key, at-per+1, at+1) >= first.PerCategory {
		kept = max(kept, first.Slots)
	}
	if first.Auto {
		known, heard := map[string]bool{}, map[string]bool{}
		for _, a := range o.attempts {
			if a.at > at-24*time.Hour.Microseconds() {
				known[a.category] = true
			}
		}
		for _, a := range o.Admitted {
			if a.At > at-per {
				heard[a.category] = true
			}
		}
		if heard[r.Category] {
			kept = max(kept, int64(len(known)-len(heard))+max(0, first.Floor-int64(len(known))))
		}
	}
	return kept
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

// decisions is how many random decisions are compared for each strategy; make soak raises it.
func decisions(standard int) int {
	n, err := strconv.Atoi(os.Getenv("SOAK_DECISIONS")) //nolint:forbidigo // how long to test is no configuration of the product
	if err != nil {
		return cmp.Or(standard, 1_500)
	}
	return n
}

// AgainstTheOracle compares the decisions of random histories with those of an [Oracle].
func AgainstTheOracle(t *testing.T, b Fixture, w World) {
	t.Helper()
	var done Tally
	histories := 0
	for want := decisions(b.Decisions); done.decisions < want; {
		rapid.Check(t, func(rt *rapid.T) {
			histories++ // each has a limit group of its own
			done.add(NewHistory(rt, w, fmt.Sprint("group-", histories), b).Run(rt, b))
		})
	}
	require.Positive(t, done.refused)
	t.Logf("%d decisions, %d of them refusals, %d with an exact retry time", done.decisions, done.refused, done.retries)
}
