package ratelimit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
)

// scripted is a limiter that answers from two lists, and begins them anew at their ends.
type scripted struct {
	peeks, admits []ratelimit.Decision
	err           error
	peeked, asked int
}

func (s *scripted) Peek(context.Context, []ratelimit.Request) ([]ratelimit.Decision, error) {
	s.peeked++
	if len(s.peeks) == 0 {
		return nil, s.err
	}
	return s.peeks[(s.peeked-1)%len(s.peeks):], nil
}

func (s *scripted) Admit(context.Context, []ratelimit.Request) ([]ratelimit.Decision, error) {
	s.asked++
	if len(s.admits) == 0 {
		return nil, s.err
	}
	return s.admits[(s.asked-1)%len(s.admits):], nil
}

var (
	errStore = errors.New("the store is away")
	fits     = ratelimit.Decision{}
)

// fullFor is the decision of a level that is full for a time.
func fullFor(d time.Duration) ratelimit.Decision {
	return ratelimit.Decision{
		Level: "channel", Refused: []string{"channel"}, Window: ratelimit.Window{Limit: 2, Per: time.Hour}, RetryAfter: d,
	}
}

func TestWaitAsksForASlotOnlyWhenOneFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{peeks: []ratelimit.Decision{fullFor(time.Second), fits}, admits: []ratelimit.Decision{fits}}
		begin := time.Now()
		require.NoError(t, ratelimit.Wait(t.Context(), s, ratelimit.Request{}))
		require.Equal(t, 2, s.peeked)
		require.Equal(t, 1, s.asked)
		require.GreaterOrEqual(t, time.Since(begin), time.Second)
	})
}

func TestWaitGoesOnWhereAnotherTakesTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{peeks: []ratelimit.Decision{fits}, admits: []ratelimit.Decision{fullFor(0), fits}}
		begin := time.Now()
		require.NoError(t, ratelimit.Wait(t.Context(), s, ratelimit.Request{}))
		require.Equal(t, 2, s.peeked)
		require.Equal(t, 2, s.asked)
		require.Less(t, time.Since(begin), 10*time.Millisecond)
	})
}

// Sleeps are as long as the limiter says, at most a minute, and up to a tenth longer, or up to 10 ms.
func TestWaitSleepsForAsLongAsTheLimiterSays(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ wait, least, jitter time.Duration }{
		"a second": {time.Second, time.Second, 100 * time.Millisecond},
		"a moment": {time.Millisecond, time.Millisecond, 10 * time.Millisecond},
		"an hour":  {time.Hour, time.Minute, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				longest := time.Duration(0)
				for range 300 {
					s := &scripted{peeks: []ratelimit.Decision{fullFor(row.wait), fits}, admits: []ratelimit.Decision{fits}}
					begin := time.Now()
					require.NoError(t, ratelimit.Wait(t.Context(), s, ratelimit.Request{}))
					took := time.Since(begin)
					require.GreaterOrEqual(t, took, row.least)
					require.Less(t, took, row.least+row.jitter)
					longest = max(longest, took)
				}
				require.Greater(t, longest, row.least+row.jitter*10/11)
			})
		})
	}
}

func TestWaitEndsWithAnError(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		ctx     context.Context
		limiter *scripted
		want    error
		limited bool
	}{
		"of a peek":       {t.Context(), &scripted{err: errStore}, errStore, false},
		"of an admission": {t.Context(), &scripted{peeks: []ratelimit.Decision{fits}, err: errStore}, errStore, false},
		"of the context":  {ended, &scripted{peeks: []ratelimit.Decision{fullFor(time.Hour)}}, context.Canceled, true},
		"where none fits": {t.Context(), &scripted{peeks: []ratelimit.Decision{fullFor(-1)}}, nil, true},
		"before it asks": {
			ended, &scripted{peeks: []ratelimit.Decision{fullFor(time.Hour)}, admits: []ratelimit.Decision{fits}}, context.Canceled, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ratelimit.Wait(row.ctx, row.limiter, ratelimit.Request{})
			if row.want != nil {
				require.ErrorIs(t, err, row.want)
			}
			_, limited := errors.AsType[*ratelimit.LimitedError](err)
			require.Equal(t, row.limited, limited)
		})
	}
}

func TestDoRunsWhatIsAdmittedOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		limiter *scripted
		runs    bool
		want    string
	}{
		"admitted":  {&scripted{admits: []ratelimit.Decision{fits}}, true, "what it returned"},
		"duplicate": {&scripted{admits: []ratelimit.Decision{{Duplicate: true}}}, false, ""},
		"refused": {
			&scripted{admits: []ratelimit.Decision{fullFor(time.Minute)}}, false, "limited by channel, 2 per 1h0m0s: retry after 1m0s",
		},
		"open in a moment": {&scripted{admits: []ratelimit.Decision{fullFor(0)}}, false, "limited by channel, 2 per 1h0m0s: retry after 0s"},
		"never fits": {
			&scripted{admits: []ratelimit.Decision{fullFor(-1)}}, false, "limited by channel: it can never fit into 2 per 1h0m0s",
		},
		"unavailable": {&scripted{err: errStore}, false, "do: the store is away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := false
			err := ratelimit.Do(t.Context(), row.limiter, ratelimit.Request{}, func(context.Context) error {
				ran = true
				return errors.New("what it returned")
			})
			require.Equal(t, row.runs, ran)
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, row.want)
		})
	}
}
