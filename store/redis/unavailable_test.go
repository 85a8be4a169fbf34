package redis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestEveryCallToAServerThatIsGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := redisstore.New(lua.NewConn(server.Client(), 0), redisstore.Options{Options: store.Options{Owner: "a"}})
	server.Kill()
	scope, entry := storetest.Scope, store.Entry{Number: 1, AdmittedAt: 1}
	for name, call := range map[string]func() error{
		"claim":          func() error { _, err := s.Claim(t.Context(), scope, storetest.Unpaced, false); return err },
		"renew":          func() error { _, err := s.Renew(t.Context(), scope); return err },
		"release":        func() error { return s.Release(t.Context(), scope) },
		"ack":            func() error { return s.Ack(t.Context(), scope, entry, store.Receipt{}) },
		"retry":          func() error { return s.Retry(t.Context(), scope, entry, store.RetryPlan{}) },
		"bury":           func() error { return s.Bury(t.Context(), scope, entry, store.DeadReason{Reason: "x"}) },
		"expire":         func() error { return s.Expire(t.Context(), scope, entry, nil) },
		"discard":        func() error { return s.Discard(t.Context(), scope, entry) },
		"append":         func() error { return s.Append(t.Context(), scope, "1", store.KindNotice, nil) },
		"digest":         func() error { return s.Digest(t.Context(), scope, store.DigestTerms{Interval: time.Minute}) },
		"pause":          func() error { return s.Pause(t.Context(), scope, time.Minute, "x") },
		"posted message": func() error { _, err := s.PostedMessage(t.Context(), scope, 1); return err },
		"mark": func() error {
			_, _, err := s.Mark(t.Context(), scope, store.MarkChange{
				Message: 1, Place: store.Receipt{Channel: "C1", TS: "1.1"}, Kind: store.MarkMuted, Mark: store.Mark{User: "U1"},
			})
			return err
		},
		"delayed":      func() error { _, err := s.Delayed(t.Context(), scope); return err },
		"due":          func() error { _, err := s.Due(t.Context(), []store.Channel{scope}, true); return err },
		"drops":        func() error { _, err := s.Drops(t.Context(), scope, "", 1); return err },
		"dead letters": func() error { _, err := s.DeadLetters(t.Context(), scope, "", 1); return err },
		"delete dead":  func() error { _, err := s.DeleteDead(t.Context(), scope, "1-0"); return err },
		"reserve calls": func() error {
			_, err := s.ReserveCalls(t.Context(), "ws", store.Calls{Method: store.MethodPost, PerMinute: 1, N: 1})
			return err
		},
		"pause credential": func() error { return s.PauseCredential(t.Context(), "ws", "x", time.Minute) },
		"credential":       func() error { _, _, err := s.CredentialPaused(t.Context(), "ws"); return err },
		"report":           func() error { _, err := s.Report(t.Context(), scope); return err },
		"categories":       func() error { _, err := s.Categories(t.Context(), scope); return err },
		"count muted":      func() error { return s.CountMuted(t.Context(), scope, 1) },
		"memory":           func() error { _, _, err := s.Memory(t.Context(), scope); return err },
		"ping":             func() error { return s.Ping(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call()
			require.NotErrorIs(t, err, store.ErrPartial)
			require.ErrorIs(t, err, ratelimit.ErrUnavailable)
			require.ErrorIs(t, err, store.ErrNotSent)
		})
	}
}
