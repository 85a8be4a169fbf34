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

// The record of drops is bounded in bytes: the oldest go, whatever their number.
func TestTheRecordOfDropsIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10_000}
		l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		b.AdmitOne(t, l.Told(h, "admitted", "c", "", ""))
		for i := range 30 {
			b.AdmitOne(t, l.Told(h, fmt.Sprint("small", i), "c", "", ""))
		}
		for i := 0; i < 640; i += 32 {
			batch := make([]store.Request, 32)
			for n := range batch {
				batch[n] = l.Large(h, fmt.Sprint("large", i+n), "c")
			}
			b.MustAdmit(t, batch...)
		}
		b.AdmitOne(t, l.Told(h, "last", "c", "", ""))
		drops, err := b.Drops(t.Context(), storetest.Scope, "", 10_000)
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
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
		l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		require.Equal(t, storetest.Admitted, b.AdmitOne(t, l.Large(h, "0", "c")).Outcome)
		waits := 0
		for ; b.AdmitOne(t, l.Large(h, fmt.Sprint(waits+1), "c")).Outcome == storetest.Delayed; waits++ {
			require.Less(t, waits, 1000)
		}
		require.InDelta(t, 8<<20/storetest.LargeEvent, waits, 2)
		b.Advance(time.Minute)
		again := l.Large(h, "1", "c")
		again.Delayed = 2 // its number
		require.Equal(t, storetest.Admitted, b.AdmitOne(t, again).Outcome)
		require.Equal(t, []store.Outcome{storetest.Delayed, storetest.Full}, storetest.OutcomesOf(b.MustAdmit(t, l.Large(h, "room", "c"), l.Large(h, "none", "c"))))
	})
}

// What is remembered of messages is bounded in bytes: of the oldest, a resolve finds nothing any more.
func TestTheRecordsOfMessagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
		l := storetest.Limits{Channel: storetest.PerMinute(10_000), Category: storetest.PerMinute(10_000)}
		for i := 0; i < 1120; i += 32 {
			batch := make([]store.Request, 32)
			for n := range batch {
				batch[n] = l.Large(h, fmt.Sprint(i+n), "c")
				batch[n].Event.Status, batch[n].Event.Fingerprint = store.Firing, fmt.Sprint("f", i+n)
			}
			b.MustAdmit(t, batch...)
			b.Advance(time.Millisecond)
		}
		resolve := func(n int) store.Outcome {
			return b.AdmitOne(t, l.Told(h, fmt.Sprint("r", n), "c", store.Resolved, fmt.Sprint("f", n))).Outcome
		}
		require.Equal(t, storetest.Suppressed, resolve(0))
		require.Equal(t, storetest.Suppressed, resolve(31))
		require.Equal(t, storetest.Admitted, resolve(160), "it is remembered, and waits: its resolve takes its place")
		require.Equal(t, storetest.Admitted, resolve(1119))
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
	limiter := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{FoldEvery: time.Hour})
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

func (nothingSent) TakeBack(context.Context, store.Channel) (map[int64]store.OutageResult, error) {
	pasts := map[int64]store.OutageResult{}
	for n := range int64(1000) {
		pasts[n+1] = store.OutageResult{}
	}
	return pasts, nil
}

func (nothingSent) Resume(store.Channel) {}

// While Redis is away, what is admitted is kept up to so many bytes; then senders are told to come again. Other channels go
// on, and all of it is taken in later, in parcels that are bounded too.
func TestTheJournalOfAnOutageIsBounded(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	restored := &sized{Scripter: client, script: lua.Admit}
	line := &storetest.Away{Scripter: restored}
	other := store.Channel{Group: "other", Name: "other"}
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyOpen, other.Name: replica.PolicyOpen}, ProbeEvery: 20 * time.Millisecond,
		Unsent: nothingSent{},
	})
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
	line.Away.Store(true)
	kept := 0
	for ; ; kept++ {
		require.Less(t, kept, 1000)
		_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Large(h, fmt.Sprint("e", kept), fmt.Sprint("c", kept))})
		if err != nil {
			require.ErrorIs(t, err, store.ErrUnavailable)
			break
		}
	}
	require.InDelta(t, 16<<20/storetest.LargeEvent, kept, 16<<20/storetest.LargeEvent/20)
	decisions, err := s.Admit(t.Context(), other, []store.Request{{ID: "other", Levels: []ratelimit.Level{store.NewChannelLevel("other", storetest.PerMinute(1))}, Category: "c"}})
	require.NoError(t, err)
	require.Equal(t, storetest.Admitted, decisions[0].Outcome)
	line.Away.Store(false)
	require.Eventually(t, func() bool { return s.Health().Up }, 10*time.Second, 10*time.Millisecond)
	report, err := s.Report(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Equal(t, int64(kept), report.Ledger.Admitted)
	require.Greater(t, slices.Max(restored.sizes), 128<<10)
	require.Less(t, slices.Max(restored.sizes), 300<<10)
	line.Away.Store(true)
	decisions, err = s.Admit(t.Context(), storetest.Scope, []store.Request{l.Large(h, "after", "c")})
	require.NoError(t, err)
	require.Equal(t, storetest.Admitted, decisions[0].Outcome, "there is room again")
}

// Categories without end leave nothing behind while Redis is away, but those that were admitted.
func TestDistinctCategoriesOfAnOutage(t *testing.T) {
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
