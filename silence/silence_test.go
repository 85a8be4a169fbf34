package silence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/events"
	"slackrelay/lua/redistest"
	"slackrelay/silence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onEvery runs a test on each store.
func onEvery(t *testing.T, test func(t *testing.T, store silence.Store)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, silence.NewRedis(redistest.Start(t).Client()))
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, silence.NewMemory(nil))
	})
}

func matchers(t *testing.T, texts ...string) (all []events.Matcher) {
	t.Helper()
	for _, text := range texts {
		m, err := events.ParseMatcher(text)
		require.NoError(t, err)
		all = append(all, m)
	}
	return all
}

func event(channel, team string) *events.Event {
	return &events.Event{Channel: channel, Severity: events.Warning, Labels: map[string]string{"team": team}}
}

func TestASilenceMutesMatchingEventsUntilItIsExpired(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, store silence.Store) {
		here, there := silence.New(silence.Options{Store: store}), silence.New(silence.Options{Store: store})
		require.Empty(t, here.Mutes(event("alerts", "core")))
		kept, err := here.Add(t.Context(), silence.Silence{
			Channel: "alerts", Matchers: matchers(t, "team=core", "severity=~warn.*"), Author: " ada ", Reason: "deploying",
		}, time.Hour)
		require.NoError(t, err)
		require.Equal(t, "ada", kept.Author)
		require.Equal(t, time.Hour, kept.EndsAt.Sub(kept.StartsAt))

		require.Equal(t, kept.ID, here.Mutes(event("alerts", "core")))
		require.Empty(t, here.Mutes(event("alerts", "web")), "another label")
		require.Empty(t, here.Mutes(event("other", "core")), "another channel")
		require.Empty(t, there.Mutes(event("alerts", "core")), "not read yet")
		require.NoError(t, there.Refresh(t.Context()))
		require.Equal(t, kept.ID, there.Mutes(event("alerts", "core")))

		_, err = there.Expire(t.Context(), kept.ID)
		require.NoError(t, err)
		require.Empty(t, there.Mutes(event("alerts", "core")))
		listed, err := here.List(t.Context())
		require.NoError(t, err)
		require.Len(t, listed, 1)
		require.Equal(t, silence.Ended, listed[0].State)
		_, err = there.Expire(t.Context(), kept.ID)
		require.NoError(t, err, "expiring twice is not an error")
		_, err = there.Expire(t.Context(), "nobody")
		require.ErrorIs(t, err, silence.ErrNotFound)
	})
}

func TestASilenceWithoutAChannelMutesEveryChannelOnceItBegins(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, store silence.Store) {
		s := silence.New(silence.Options{Store: store})
		_, err := s.Add(t.Context(), silence.Silence{
			Matchers: matchers(t, "team=core"), Author: "ada", Reason: "tonight", StartsAt: time.Now().Add(time.Hour),
		}, time.Hour)
		require.NoError(t, err)
		require.Empty(t, s.Mutes(event("alerts", "core")))
		listed, err := s.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, silence.Pending, listed[0].State)
		kept, err := s.Add(t.Context(), silence.Silence{Matchers: matchers(t, "team=core"), Author: "ada", Reason: "now"}, time.Minute)
		require.NoError(t, err)
		require.Equal(t, kept.ID, s.Mutes(event("anything", "core")))
	})
}

func TestInvalidSilencesAreRefusedWithTheirFault(t *testing.T) {
	t.Parallel()
	s := silence.New(silence.Options{Store: silence.NewMemory(nil)})
	good := silence.Silence{Matchers: matchers(t, "team=core"), Author: "ada", Reason: "x"}
	for fault, change := range map[string]func(s *silence.Silence) time.Duration{
		"has no matcher":               func(s *silence.Silence) time.Duration { s.Matchers = nil; return time.Hour },
		"needs an author and a reason": func(s *silence.Silence) time.Duration { s.Reason = " "; return time.Hour },
		"must end after it begins":     func(*silence.Silence) time.Duration { return 0 },
		"within a year":                func(*silence.Silence) time.Duration { return 400 * 24 * time.Hour },
		"cannot match headers":         func(s *silence.Silence) time.Duration { s.Matchers[0].Field = "header.X"; return time.Hour },
		`field "x" is unknown`:         func(s *silence.Silence) time.Duration { s.Matchers[0].Field = "x"; return time.Hour },
	} {
		bad := good
		bad.Matchers = matchers(t, "team=core")
		duration := change(&bad)
		_, err := s.Add(t.Context(), bad, duration)
		require.ErrorIs(t, err, silence.ErrInvalid)
		require.ErrorContains(t, err, fault)
	}
	listed, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, listed)
}

// unreachable is a store that cannot be reached.
type unreachable struct{ silence.Store }

func (unreachable) List(context.Context) (time.Time, []silence.Silence, error) {
	return time.Time{}, nil, errors.New("unreachable")
}

func TestLoadedSilencesStayInEffectWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := silence.New(silence.Options{Store: silence.NewRedis(server.Client())})
	_, err := s.Add(t.Context(), silence.Silence{Matchers: matchers(t, "team=core"), Author: "ada", Reason: "x"}, time.Hour)
	require.NoError(t, err)
	server.Kill()
	require.ErrorIs(t, s.Refresh(t.Context()), silence.ErrUnavailable)
	require.NotEmpty(t, s.Mutes(event("alerts", "core")))
}

func TestRunReadsTheChangesOfOtherReplicas(t *testing.T) {
	t.Parallel()
	store := silence.NewMemory(nil)
	there, here := silence.New(silence.Options{Store: store}), silence.New(silence.Options{Store: store, Every: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		here.Run(ctx)
	}()
	_, err := there.Add(t.Context(), silence.Silence{Matchers: matchers(t, "team=core"), Author: "ada", Reason: "x"}, time.Hour)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return here.Mutes(event("a", "core")) != "" }, 5*time.Second, time.Millisecond)
	cancel()
	<-done
	silence.New(silence.Options{Store: unreachable{}}).Run(ctx) // it ends although the store is unreachable
}

func TestReplacedSilenceKeepsItsIDUnlessItsMatchersChange(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, store silence.Store) {
		silencer := silence.New(silence.Options{Store: store})
		one := silence.Silence{Channel: "alerts", Matchers: matchers(t, "team=core"), Author: "ada", Reason: "deploying"}
		first, err := silencer.Replace(t.Context(), "", with(one, time.Hour))
		require.NoError(t, err)
		longer, err := silencer.Replace(t.Context(), first.ID, with(one, 2*time.Hour))
		require.NoError(t, err)
		require.Equal(t, first.ID, longer.ID)
		require.True(t, first.StartsAt.Equal(longer.StartsAt))
		require.True(t, longer.EndsAt.After(first.EndsAt))

		one.Matchers = matchers(t, "team=web")
		other, err := silencer.Replace(t.Context(), first.ID, with(one, time.Hour))
		require.NoError(t, err)
		require.NotEqual(t, first.ID, other.ID)
		require.Empty(t, silencer.AllMuting(event("alerts", "core")), "the first one ended")
		require.Equal(t, []string{other.ID}, silencer.AllMuting(event("alerts", "web")))

		_, err = silencer.Expire(t.Context(), other.ID)
		require.NoError(t, err)
		again, err := silencer.Replace(t.Context(), other.ID, with(one, time.Hour))
		require.NoError(t, err)
		require.NotEqual(t, other.ID, again.ID, "one that ended does not begin again")

		_, err = silencer.Replace(t.Context(), "nobody", with(one, time.Hour))
		require.ErrorIs(t, err, silence.ErrNotFound)
		_, err = silencer.Replace(t.Context(), again.ID, with(one, -time.Hour))
		require.ErrorIs(t, err, silence.ErrInvalid)
	})
}

// with returns a silence that ends after d.
func with(one silence.Silence, d time.Duration) silence.Silence {
	one.EndsAt = time.Now().Add(d)
	return one
}
