package replica_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// An invalid request fails before it joins a call, so that it cannot fail the requests of other callers.
func TestInvalidRequestsFailAlone(t *testing.T) {
	t.Parallel()
	l := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(10)}
	for name, change := range map[string]func(r *store.Request){
		"no id":     func(r *store.Request) { r.ID = "" },
		"no levels": func(r *store.Request) { r.Levels = nil },
		"no units":  func(r *store.Request) { r.N = -1 },
		"not completed": func(r *store.Request) {
			r.Source = sourceFunc(func() (store.Admission, error) { return store.Admission{}, errors.New("no event") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := &deciding{Store: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})}
			s := replica.New(calls, replica.Options{Replica: "a", Fallback: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})})
			t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
			request := l.Request("1", "a")
			change(&request)
			_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{request})
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.Zero(t, calls.decisions, "the store is not asked")
		})
	}
}

// deciding counts the calls that decide.
type deciding struct {
	replica.Store
	decisions int
}

func (d *deciding) Admit(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	d.decisions++
	return d.Store.Admit(ctx, channel, requests)
}

// A request is completed at most once, also while its id must be compared with ids of unknown outcome.
func TestRequestsAreCompletedOnce(t *testing.T) {
	t.Parallel()
	scripter := &storetest.Counting{Scripter: redistest.Start(t).Client()}
	s := storetest.Share(t, redisstore.New(scripter, redisstore.Options{}), replica.Options{CallTimeout: time.Minute, MaxStale: time.Minute})
	l := storetest.Limits{Channel: storetest.PerMinute(9), Category: storetest.PerMinute(1)}
	completed := map[string]int{}
	request := func(id string) store.Request {
		r := l.Request("", "a")
		r.Source = sourceFunc(func() (store.Admission, error) {
			completed[id]++
			return store.Admission{ID: id, Enqueue: r.Enqueue}, nil
		})
		return r
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Admit(ctx, storetest.Scope, []store.Request{request("unknown")})
	require.True(t, err == nil || errors.Is(err, ratelimit.ErrUnavailable), "%v", err)
	for i := range 3 {
		_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{request(fmt.Sprint(i)), request(fmt.Sprint("second", i))})
		require.NoError(t, err)
	}
	for id, n := range completed {
		require.LessOrEqual(t, n, 1, id)
	}
}

// sourceFunc makes the admission of a request.
type sourceFunc func() (store.Admission, error)

func (f sourceFunc) Admission() (store.Admission, error) { return f() }
