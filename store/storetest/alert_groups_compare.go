package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// compare compares the posted messages with what a person would expect.
func (g *groups) compare() {
	var want, got []string
	for _, m := range g.messages {
		if len(m.alerts) > 0 {
			want = append(want, describe(m.alerts, m.plain))
		}
	}
	for n := range int64((g.calls + 1) * (g.calls + 2)) {
		record, err := g.A.PostedMessage(g.t.Context(), Scope, n+1)
		require.NoError(g.t, err)
		if record == nil {
			continue
		}
		alerts, plain := map[string]bool{}, int(record.UntrackedResolved+record.Untracked)
		for _, e := range record.Events {
			if e.Fingerprint == "" {
				plain++
			} else {
				alerts[e.Fingerprint] = e.Resolved == 0
			}
		}
		for name, at := range record.Members {
			alerts[name] = at == 0
		}
		got = append(got, describe(alerts, plain))
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(g.t, want, got)
}

func describe(alerts map[string]bool, plain int) string {
	parts := make([]string, 0, len(alerts))
	for name, firing := range alerts {
		parts = append(parts, fmt.Sprint(name, " fires: ", firing))
	}
	slices.Sort(parts)
	return fmt.Sprint(strings.Join(parts, ", "), " and ", plain)
}
