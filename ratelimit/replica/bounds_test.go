package replica_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// sized records how long the arguments of a script's calls are, and lets some calls time out.
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

// A batch of counts is bounded in bytes, and gets shorter each time that it gets no answer. Its counts stay.
func TestBatchesOfCountsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	line := &sized{Scripter: client, script: lua.MergeCounts, fails: 12}
	limiter := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{MergeEvery: time.Hour})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10_000}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	_, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{l.Large(h, "1", "a"), l.Large(h, "2", "a")})
	require.NoError(t, err)
	for i := range 500 {
		_, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{l.Large(h, fmt.Sprint("storm", i), fmt.Sprint("c", i%3))})
		require.NoError(t, err)
	}
	for i := range 13 {
		err = limiter.Flush(t.Context())
		require.Equal(t, i < 12, err != nil)
	}
	require.LessOrEqual(t, line.sizes[0], 256<<10)
	require.Greater(t, line.sizes[0], 64<<10)
	require.Less(t, line.sizes[12], 1000, "only what is counted")
	report, err := limiter.Report(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Equal(t, store.Ledger{Received: 502, Admitted: 1, Dropped: 501, Pending: 1}, report.Ledger)
}

// nothingSent is an outbox that sent nothing.
type nothingSent struct{}

func (nothingSent) TakeBack(context.Context, store.Channel) (map[int64]store.OutageResult, error) {
	results := map[int64]store.OutageResult{}
	for n := range int64(1000) {
		results[n+1] = store.OutageResult{}
	}
	return results, nil
}

func (nothingSent) Resume(store.Channel) {}

// The journal of an outage is bounded in bytes; above that, senders must try again. Other channels are not affected, and the
// journal is restored later, in batches that are bounded too.
func TestJournalOfAnOutageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	restored := &sized{Scripter: client, script: lua.Restore}
	line := &storetest.Away{Scripter: restored}
	other := store.Channel{Group: "other", Name: "other"}
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Policies:       map[string]replica.Policy{storetest.Scope.Name: replica.PolicyOpen, other.Name: replica.PolicyOpen},
		ProbeEvery:     20 * time.Millisecond,
		FallbackOutbox: nothingSent{},
	})
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
	line.Away.Store(true)
	admitted := 0
	for ; ; admitted++ {
		require.Less(t, admitted, 1000)
		_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Large(h, fmt.Sprint("e", admitted), fmt.Sprint("c", admitted))})
		if err != nil {
			require.ErrorIs(t, err, ratelimit.ErrUnavailable)
			break
		}
	}
	require.InDelta(t, 16<<20/storetest.LargeEvent, admitted, 16<<20/storetest.LargeEvent/20)
	answer, err := s.Admit(t.Context(), other, []store.Request{{
		Request: ratelimit.Request{
			ID:       "other",
			Category: "c",
			Levels:   []ratelimit.Level{storetest.ChannelLevel("other", storetest.PerMinute(1))},
		},
	}})
	require.NoError(t, err)
	require.Equal(t, storetest.Admitted, answer.Decisions[0].Outcome)
	line.Away.Store(false)
	awaitUp(t, s)
	report, err := s.Report(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Equal(t, int64(admitted), report.Ledger.Admitted)
	require.Greater(t, slices.Max(restored.sizes), 128<<10)
	require.Less(t, slices.Max(restored.sizes), 300<<10)
	line.Away.Store(true)
	answer, err = s.Admit(t.Context(), storetest.Scope, []store.Request{l.Large(h, "after", "c")})
	require.NoError(t, err)
	require.Equal(t, storetest.Admitted, answer.Decisions[0].Outcome, "there is room again")
}

// However many categories are refused during an outage, the fallback has levels only of those that were known or admitted.
func TestRefusedCategoriesLeaveNothingInTheFallback(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyLocal)
	l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(10)}
	for i := range 10 {
		replicas[0].AdmitOne(t, l.Request(fmt.Sprint("before", i), fmt.Sprint("known", i)))
	}
	lines[0].Away.Store(true)
	for i := range 10_000 {
		replicas[0].AdmitOne(t, l.Request(fmt.Sprint("e", i), fmt.Sprint("c", i)))
	}
	require.LessOrEqual(t, replica.Seeded(replicas[0].Limiter.(*replica.Limiter), storetest.Scope), 2+100+10)
}
