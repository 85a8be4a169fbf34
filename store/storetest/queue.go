package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Terms of most claims: neither is paced, and with Lookable, an attempt of which nobody knows whether it was posted is
// looked up after 10 s.
var (
	Unpaced  = store.Terms{Pace: store.Pace{Burst: 1}}
	Lookable = store.Terms{Pace: store.Pace{Burst: 1}, LookupDelay: 10 * time.Second}
)

// Fill admits n events with the payloads "1 of n", "2 of n", ...
func (b Fixture) Fill(t *testing.T, n int) {
	t.Helper()
	var requests []store.Request
	for i := range n {
		requests = append(requests, store.Request{
			Request: ratelimit.Request{
				ID:     fmt.Sprint(i),
				Levels: []ratelimit.Level{ChannelLevel("alerts", ratelimit.Window{Limit: 1000, Per: time.Hour})},
			},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: fmt.Appendf(nil, "%d of %d", i+1, n)},
		})
	}
	_, err := b.Admit(t.Context(), Scope, requests)
	require.NoError(t, err)
}

// BalancedReport is the report of [Scope], whose ledger must be in balance.
func (b Fixture) BalancedReport(t *testing.T) store.Report {
	t.Helper()
	report, err := b.Report(t.Context(), Scope)
	require.NoError(t, err)
	require.Zero(t, report.Ledger.Imbalance())
	return report
}

// Claim claims from [Scope].
func Claim(t *testing.T, o store.Queue, terms store.Terms) store.Claim {
	t.Helper()
	c, err := o.Claim(t.Context(), Scope, terms, false)
	require.NoError(t, err)
	return c
}

// ClaimEntry claims an entry that must be there, at any pace.
func ClaimEntry(t *testing.T, o store.Queue) store.Entry {
	t.Helper()
	c := Claim(t, o, Unpaced)
	require.Equal(t, store.Claimed, c.State)
	return c.Entry
}
