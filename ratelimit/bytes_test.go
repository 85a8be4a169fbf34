package ratelimit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

const largeEvent = 32 << 10

// large is a request with as long a message as is kept.
func (l limits) large(h *ratelimit.Handling, id, category string) ratelimit.Request {
	r := l.told(h, id, category, "", "")
	r.Enqueue = &ratelimit.Enqueue{Kind: ratelimit.KindMessage, Payload: []byte(`{"id":"` + id + `","text":"` + strings.Repeat("x", largeEvent) + `"}`)}
	return r
}

// The record of drops is bounded in bytes: the oldest go, whatever their number.
func TestTheRecordOfDropsIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "post", Drops: 10_000}
		l := limits{channel: perMinute(1), category: perMinute(1)}
		b.one(t, l.told(h, "admitted", "c", "", ""))
		for i := range 30 {
			b.one(t, l.told(h, fmt.Sprint("small", i), "c", "", ""))
		}
		for i := 0; i < 640; i += 32 {
			batch := make([]ratelimit.Request, 32)
			for n := range batch {
				batch[n] = l.large(h, fmt.Sprint("large", i+n), "c")
			}
			b.admit(t, batch...)
		}
		b.one(t, l.told(h, "last", "c", "", ""))
		drops, err := b.Drops(t.Context(), scope, "", 10_000)
		require.NoError(t, err)
		bytes := 0
		for _, d := range drops {
			bytes += len(d.Payload)
		}
		require.LessOrEqual(t, bytes, 16<<20)
		require.Greater(t, bytes, 15<<20, "no more is lost than must be")
		require.JSONEq(t, `{"id":"last"}`, string(drops[0].Payload))
		require.Contains(t, string(drops[1].Payload[:20]), "large639")
		require.Contains(t, string(drops[len(drops)-1].Payload[:20]), fmt.Sprint("large", 640-len(drops)+1), "the oldest went")
	})
}

// What waits for a slot is bounded in bytes, and what leaves makes room.
func TestWhatIsDelayedIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
		l := limits{channel: perMinute(1), category: perMinute(1)}
		require.Equal(t, admitted, b.one(t, l.large(h, "0", "c")).Outcome)
		waits := 0
		for ; b.one(t, l.large(h, fmt.Sprint(waits+1), "c")).Outcome == delayed; waits++ {
			require.Less(t, waits, 1000)
		}
		require.InDelta(t, 8<<20/largeEvent, waits, 2)
		b.advance(time.Minute)
		again := l.large(h, "1", "c")
		again.Delayed = 2 // its number
		require.Equal(t, admitted, b.one(t, again).Outcome)
		require.Equal(t, []ratelimit.Outcome{delayed, full}, outcomesOf(b.admit(t, l.large(h, "room", "c"), l.large(h, "none", "c"))))
	})
}

// What is remembered of messages is bounded in bytes: of the oldest, a resolve finds nothing any more.
func TestTheRecordsOfMessagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "edit"}
		l := limits{channel: perMinute(10_000), category: perMinute(10_000)}
		for i := 0; i < 1120; i += 32 {
			batch := make([]ratelimit.Request, 32)
			for n := range batch {
				batch[n] = l.large(h, fmt.Sprint(i+n), "c")
				batch[n].Event.Status, batch[n].Event.Fingerprint = ratelimit.Firing, fmt.Sprint("f", i+n)
			}
			b.admit(t, batch...)
			b.advance(time.Millisecond)
		}
		resolve := func(n int) ratelimit.Outcome {
			return b.one(t, l.told(h, fmt.Sprint("r", n), "c", ratelimit.Resolved, fmt.Sprint("f", n))).Outcome
		}
		require.Equal(t, suppressed, resolve(0))
		require.Equal(t, suppressed, resolve(31))
		require.Equal(t, admitted, resolve(160), "it is remembered, and waits: its resolve takes its place")
		require.Equal(t, admitted, resolve(1119))
	})
}

// sized notes how long the arguments of a script are, and answers some calls with a timeout.
type sized struct {
	redis.Scripter
	script *redis.Script

	mu    sync.Mutex
	sizes []int
	fails int
}

func (s *sized) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha != s.script.Hash() {
		return s.Scripter.EvalSha(ctx, sha, keys, args...)
	}
	size := 0
	for _, arg := range args {
		switch text := arg.(type) {
		case []byte:
			size += len(text)
		case string:
			size += len(text)
		}
	}
	s.mu.Lock()
	s.sizes = append(s.sizes, size)
	fails := s.fails > 0
	s.fails--
	s.mu.Unlock()
	if fails {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(context.DeadlineExceeded)
		return cmd
	}
	return s.Scripter.EvalSha(ctx, sha, keys, args...)
}

// A fold is bounded in bytes, and gets shorter each time that nobody answers it; what it counts is counted all the same.
func TestFoldsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	line := &sized{Scripter: client, script: lua.Fold, fails: 12}
	limiter := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{FoldEvery: time.Hour})
	h := &ratelimit.Handling{Overflow: "drop", Resolves: "post", Drops: 10_000}
	l := limits{channel: perMinute(1), category: perMinute(1)}
	_, err := limiter.Admit(t.Context(), scope, []ratelimit.Request{l.large(h, "1", "a"), l.large(h, "2", "a")})
	require.NoError(t, err)
	for i := range 500 {
		_, err := limiter.Admit(t.Context(), scope, []ratelimit.Request{l.large(h, fmt.Sprint("storm", i), fmt.Sprint("c", i%3))})
		require.NoError(t, err)
	}
	for i := range 13 {
		err = limiter.Flush(t.Context())
		require.Equal(t, i < 12, err != nil)
	}
	require.LessOrEqual(t, line.sizes[0], 256<<10)
	require.Greater(t, line.sizes[0], 64<<10)
	require.Less(t, line.sizes[12], 1000, "only what is counted")
	report, err := limiter.Report(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, ratelimit.Ledger{Received: 502, Admitted: 1, Dropped: 501, Pending: 1}, report.Ledger)
}

// A fold that was taken in before is not looked into.
func TestARepeatedFoldIsNotDecoded(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	keys := []string{"relay:{a}:ledger:a", "relay:{a}:series:a:0", "relay:{a}:folds:a", "relay:{a}:drops:a", "relay:{a}:digest:a", "relay:{a}:minutes:a:0"}
	require.Equal(t, int64(1), lua.Fold.Run(t.Context(), client, keys, "replica-1", 1, `{"totals":{"received":1}}`).Val())
	answer, err := lua.Fold.Run(t.Context(), client, keys, "replica-1", 1, `{"totals":{"received":`).Int64()
	require.NoError(t, err)
	require.Zero(t, answer)
	require.ErrorContains(t, lua.Fold.Run(t.Context(), client, keys, "replica-1", 2, `{"totals":{"received":`).Err(), "ARG")
}

// nothingSent gives back all numbers.
type nothingSent struct{}

func (nothingSent) TakeBack(context.Context, ratelimit.Scope) (map[int64]ratelimit.Past, error) {
	pasts := map[int64]ratelimit.Past{}
	for n := range int64(1000) {
		pasts[n+1] = ratelimit.Past{}
	}
	return pasts, nil
}

func (nothingSent) Resume(ratelimit.Scope) {}

// While Redis is away, what is admitted is kept up to so many bytes; then senders are told to come again. Other channels go
// on, and all of it is taken in later, in parcels that are bounded too.
func TestTheJournalOfAnOutageIsBounded(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	restored := &sized{Scripter: client, script: lua.Admit}
	line := &away{Scripter: restored}
	other := ratelimit.Scope{Group: "other", Channel: "other"}
	s := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
		Policies: map[string]ratelimit.Policy{scope.Channel: ratelimit.PolicyOpen, other.Channel: ratelimit.PolicyOpen}, ProbeEvery: 20 * time.Millisecond,
		Unsent: nothingSent{},
	})
	l := limits{channel: perMinute(1), category: perMinute(1)}
	h := &ratelimit.Handling{Overflow: "drop", Resolves: "post"}
	line.away.Store(true)
	kept := 0
	for ; ; kept++ {
		require.Less(t, kept, 1000)
		_, err := s.Admit(t.Context(), scope, []ratelimit.Request{l.large(h, fmt.Sprint("e", kept), fmt.Sprint("c", kept))})
		if err != nil {
			require.ErrorIs(t, err, ratelimit.ErrUnavailable)
			break
		}
	}
	require.InDelta(t, 16<<20/largeEvent, kept, 16<<20/largeEvent/20)
	decisions, err := s.Admit(t.Context(), other, []ratelimit.Request{{ID: "other", Levels: []ratelimit.Level{ratelimit.Outer("other", perMinute(1))}, Category: "c"}})
	require.NoError(t, err)
	require.Equal(t, admitted, decisions[0].Outcome)
	line.away.Store(false)
	require.Eventually(t, func() bool { return s.Health().Up }, 10*time.Second, 10*time.Millisecond)
	report, err := s.Report(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, int64(kept), report.Ledger.Admitted)
	require.Greater(t, slices.Max(restored.sizes), 128<<10)
	require.Less(t, slices.Max(restored.sizes), 300<<10)
	line.away.Store(true)
	decisions, err = s.Admit(t.Context(), scope, []ratelimit.Request{l.large(h, "after", "c")})
	require.NoError(t, err)
	require.Equal(t, admitted, decisions[0].Outcome, "there is room again")
}

// Categories without end leave nothing behind while Redis is away, but those that were admitted.
func TestDistinctCategoriesOfAnOutage(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 1, ratelimit.PolicyLocal)
	l := limits{channel: perMinute(100), category: perMinute(10)}
	for i := range 10 {
		replicas[0].one(t, l.request(fmt.Sprint("before", i), fmt.Sprint("known", i)))
	}
	lines[0].away.Store(true)
	for i := range 10_000 {
		replicas[0].one(t, l.request(fmt.Sprint("e", i), fmt.Sprint("c", i)))
	}
	require.LessOrEqual(t, ratelimit.Seeded(replicas[0].Limiter.(*ratelimit.Shared), scope), 2+100+10)
}
