package ratelimit_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

var admitHash = lua.Admit.Hash()

// oracle decides by brute force: it keeps every admission for ever and recounts each window.
type oracle struct {
	now      int64
	admitted []admission
}

type admission struct {
	at    int64
	id    string
	units int64
	keys  []string
}

func (o *oracle) used(key string, per time.Duration, at int64) int64 {
	var n int64
	for _, a := range o.admitted {
		for _, k := range a.keys {
			if k == key && a.at > at-per.Microseconds() && a.at <= at {
				n += a.units
			}
		}
	}
	return n
}

func (o *oracle) fits(r ratelimit.Request, at int64) bool {
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			if o.used(level.Key, w.Per, at)+r.N > w.Limit {
				return false
			}
		}
	}
	return true
}

func (o *oracle) decide(r ratelimit.Request) ratelimit.Outcome {
	for _, a := range o.admitted {
		if a.id == r.ID && a.at > o.now-time.Hour.Microseconds() {
			return ratelimit.Duplicate
		}
	}
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			if r.N > w.Limit {
				return ratelimit.Never
			}
		}
	}
	if !o.fits(r, o.now) {
		return ratelimit.Dropped
	}
	a := admission{at: o.now, id: r.ID, units: r.N}
	for _, level := range r.Levels {
		a.keys = append(a.keys, level.Key)
	}
	o.admitted = append(o.admitted, a)
	return ratelimit.Admitted
}

// decisions is how many random decisions are compared for each engine; make soak raises it.
func decisions(t *testing.T, standard int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("SOAK_DECISIONS")) //nolint:forbidigo // how long to test is no configuration of the product
	if err != nil {
		return standard
	}
	return n
}

func TestAgainstTheOracle(t *testing.T) {
	t.Parallel()
	standard := map[string]int{"memory": 20_000, "redis": 4_000}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, done, refused := decisions(t, standard[name]), 0, 0
			b, histories := engine(t), 0
			for done < want {
				rapid.Check(t, func(rt *rapid.T) {
					histories++ // each has a limit group of its own
					n, drops := compare(rt, b, fmt.Sprint("group-", histories))
					done, refused = done+n, refused+drops
				})
			}
			require.Positive(t, refused)
			t.Logf("%d decisions, %d of them refusals with an exact retry time", done, refused)
		})
	}
}

// compare runs one random history on the engine and on the oracle, in a group of its own.
func compare(rt *rapid.T, b bundle, group string) (decided, refused int) {
	s := ratelimit.Scope{Group: group, Channel: "ch"}
	o := &oracle{now: b.now().UnixMicro()}
	window := func(label string) ratelimit.Window {
		return ratelimit.Window{
			Limit: rapid.Int64Range(0, 5).Draw(rt, label),
			Per:   time.Duration(rapid.Int64Range(1, 4).Draw(rt, label+" per")) * 500 * time.Millisecond,
		}
	}
	outer, inner := []ratelimit.Window{window("outer")}, []ratelimit.Window{window("inner"), window("inner too")}
	for range rapid.IntRange(5, 25).Draw(rt, "steps") {
		pause := rapid.SampledFrom([]time.Duration{
			0, 0, time.Microsecond, 137 * time.Millisecond, 500 * time.Millisecond, 499_999 * time.Microsecond, 30 * time.Minute,
		}).Draw(rt, "pause")
		b.advance(pause)
		o.now += pause.Microseconds()
		r := ratelimit.Request{
			ID: fmt.Sprint("id-", rapid.IntRange(0, 40).Draw(rt, "id")),
			N:  rapid.Int64Range(1, 3).Draw(rt, "units"),
			Levels: []ratelimit.Level{
				ratelimit.Outer(group, outer...),
				ratelimit.Inner(s, "category", rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "category"), inner...),
			},
		}
		got, err := b.Admit(rt.Context(), s, []ratelimit.Request{r})
		require.NoError(rt, err)
		require.Equal(rt, o.decide(r), got[0].Outcome)
		decided++
		if got[0].Outcome == ratelimit.Dropped {
			refused++
			at := o.now + got[0].RetryAfter.Microseconds()
			require.True(rt, o.fits(r, at), "it fits at the retry time")
			require.False(rt, o.fits(r, at-1), "and not a microsecond before")
		}
	}
	return decided, refused
}
