package storetest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

// faults are the mistakes of other limiters. The oracle must catch each.
var faults = map[string]func(f *faulty){
	"an old entry counts a moment too long":    func(f *faulty) { f.edge = time.Microsecond },
	"an old entry leaves a moment too soon":    func(f *faulty) { f.edge = -time.Microsecond },
	"equal timestamps collide":                 func(f *faulty) { f.collide = true },
	"refused attempts count":                   func(f *faulty) { f.countRefused = true },
	"a refused sibling burns its parent":       func(f *faulty) { f.burn = true },
	"units are not looked at":                  func(f *faulty) { f.oneUnit = true },
	"a fixed window instead of a rolling one":  func(f *faulty) { f.fixed = true },
	"the limit is exceeded by one":             func(f *faulty) { f.extra = 1 },
	"repeats are charged":                      func(f *faulty) { f.forgetful = true },
	"the last window only":                     func(f *faulty) { f.lastWindow = true },
	"the retry time of the first level only":   func(f *faulty) { f.firstRetry = true },
	"the retry time is the oldest entry's end": func(f *faulty) { f.oldestRetry = true },
	"what can never fit is only dropped":       func(f *faulty) { f.noNever = true },
	"a batch does not see itself":              func(f *faulty) { f.stale = true },
}

func TestTheOracleCatchesWrongAlgorithms(t *testing.T) {
	t.Parallel()
	right := storetest.Worlds["sliding-log"]
	right.Refunds = false
	play := func(fault func(f *faulty)) bool {
		recorder := &recorder{}
		done := make(chan struct{})
		go func() { // a failed check ends its goroutine
			defer close(done)
			rapid.Check(recorder, func(rt *rapid.T) {
				f := &faulty{now: storetest.StartTime, levels: map[string][]unit{}, seen: map[string]time.Time{}}
				fault(f)
				b := storetest.Fixture{Limiter: f, Advance: func(d time.Duration) { f.now = f.now.Add(d) }, Clock: func() time.Time { return f.now }}
				storetest.NewHistory(rt, right, "group", b).Run(rt, b)
			})
		}()
		<-done
		return recorder.failed
	}
	require.False(t, play(func(*faulty) {}), "without a fault it agrees with the oracle")
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, play(fault), "the oracle does not notice it")
		})
	}
}

// faulty is a plain sliding log that can be given faults.
type faulty struct {
	storetest.Limiter

	now    time.Time
	levels map[string][]unit
	seen   map[string]time.Time

	edge                                                   time.Duration // by which a window is too long
	collide, countRefused, burn, oneUnit, fixed, forgetful bool
	lastWindow, firstRetry, oldestRetry, noNever, stale    bool
	extra                                                  int64
}

type unit struct {
	at time.Time
	id string
}

func (f *faulty) Reset(_ context.Context, _ store.Channel, levels ...ratelimit.Level) error {
	for _, level := range levels {
		delete(f.levels, level.Key)
	}
	return nil
}

func (f *faulty) Admit(_ context.Context, _ store.Channel, requests []store.Request) (store.Answer, error) {
	decisions := make([]store.Decision, len(requests))
	var late []func()
	for i, r := range requests {
		decisions[i] = f.decide(r, func(commit func()) {
			if f.stale {
				late = append(late, commit)
				return
			}
			commit()
		})
	}
	for _, commit := range late {
		commit()
	}
	return store.Answer{Decisions: decisions}, nil
}

func (f *faulty) decide(r store.Request, commit func(func())) store.Decision {
	if at, ok := f.seen[r.ID]; ok && at.After(f.now.Add(-time.Hour)) && !f.forgetful {
		return store.Decision{Outcome: store.Duplicate}
	}
	d := store.Decision{Outcome: store.Admitted}
	for i, level := range r.Levels {
		fits, retry, never := f.check(level, r)
		switch {
		case !fits:
			f.refuse(&d, retry, never)
		case f.burn && i == 0:
			f.spend(level, r)
		}
	}
	if d.Outcome == store.Admitted || f.countRefused {
		commit(func() {
			for i, level := range r.Levels {
				if !f.burn || i > 0 {
					f.spend(level, r)
				}
			}
		})
	}
	if d.Outcome == store.Admitted {
		f.seen[r.ID] = f.now
	}
	d.Remaining = f.remaining(r)
	return d
}

func (f *faulty) refuse(d *store.Decision, retry time.Duration, never bool) {
	if never && !f.noNever {
		d.Outcome = store.Never
	} else if d.Outcome != store.Never {
		d.Outcome = store.Dropped
	}
	if !f.firstRetry || d.RetryAfter == 0 {
		d.RetryAfter = max(d.RetryAfter, retry)
	}
}

func (f *faulty) since(level ratelimit.Level, w ratelimit.Window, at time.Time) []unit {
	from := at.Add(-w.Per - f.edge)
	if f.fixed {
		from = at.Truncate(w.Per).Add(-time.Microsecond)
	}
	var in []unit
	for _, u := range f.levels[level.Key] {
		if u.at.After(from) {
			in = append(in, u)
		}
	}
	return in
}

func (f *faulty) check(level ratelimit.Level, r store.Request) (fits bool, retry time.Duration, never bool) {
	fits = true
	n := r.N
	if f.oneUnit {
		n = 1
	}
	for i, w := range level.Windows {
		if f.lastWindow && i < len(level.Windows)-1 {
			continue
		}
		used := f.since(level, w, f.now)
		if over := int64(len(used)) + n - w.Limit - f.extra; over > 0 {
			fits = false
			if n > w.Limit+f.extra {
				never = true
				continue
			}
			if f.oldestRetry {
				over = 1
			}
			retry = max(retry, used[over-1].at.Add(w.Per).Sub(f.now))
		}
	}
	return fits, retry, never
}

func (f *faulty) spend(level ratelimit.Level, r store.Request) {
	for range r.N {
		if f.collide && slices.ContainsFunc(f.levels[level.Key], func(u unit) bool { return u.at.Equal(f.now) }) {
			return
		}
		f.levels[level.Key] = append(f.levels[level.Key], unit{f.now, r.ID})
	}
}

func (f *faulty) remaining(r store.Request) []ratelimit.Remaining {
	var all []ratelimit.Remaining
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			all = append(all, ratelimit.Remaining{Free: max(0, w.Limit-int64(len(f.since(level, w, f.now))))})
		}
	}
	return all
}

// recorder stands in for a test that must fail.
type recorder struct{ failed bool }

func (*recorder) Helper() {}

func (*recorder) Name() string { return "recorder" }

func (*recorder) Logf(string, ...any) {}

func (*recorder) Log(...any) {}

func (*recorder) Skipf(string, ...any) {}

func (*recorder) Skip(...any) {}

func (*recorder) SkipNow() {}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func (r *recorder) Error(...any) { r.failed = true }

func (r *recorder) Fail() { r.failed = true }

func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) Fatalf(f string, a ...any) { r.Fatal(fmt.Sprintf(f, a...)) }

func (r *recorder) Fatal(...any) { r.FailNow() }

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}
