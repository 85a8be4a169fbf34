package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// expected is what a message must contain by now, as a person would keep count.
type expected struct {
	alerts map[string]bool // by fingerprint: whether it fires
	plain  int             // events beside them
	sent   bool
}

func (m *expected) fires() bool {
	for _, firing := range m.alerts {
		if firing {
			return true
		}
	}
	return false
}

// groups are webhooks of alerts, what the store did with them, and what it should have done.
type groups struct {
	t *rapid.T
	Fixture
	handling store.MessagePolicy
	calls    int
	messages []*expected
	newest   map[string]*expected
	joins    bool      // all webhooks are of one group, and join its message as long as that fires
	current  *expected // the message of the group
	lead     *expected // the message that the alerts of a call join
}

func newGroups(t *rapid.T, b Fixture, repeats, joins bool) *groups {
	return &groups{
		t: t, Fixture: b, joins: joins, newest: map[string]*expected{},
		handling: store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: repeats, KeepDrops: 10},
	}
}

// alert is one of a webhook.
type alert struct {
	name     string
	resolved bool
}

func (g *groups) webhook(alerts []alert) {
	g.calls++
	bundle := fmt.Sprintf("@%d", g.calls)
	if g.joins {
		bundle = "#group"
	}
	g.lead = nil
	requests := make([]store.Request, 0, len(alerts))
	want := make([]store.Outcome, 0, len(alerts))
	for i, a := range alerts {
		id := fmt.Sprintf("%d-%d", g.calls, i)
		requests = append(requests, store.Request{
			Request: ratelimit.Request{
				ID:       id,
				Category: "c",
				Levels:   []ratelimit.Level{ChannelLevel("alerts", ratelimit.Window{Limit: 100_000, Per: time.Hour})},
			},
			Policy:  &g.handling,
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
			Event: store.Event{
				Status: map[bool]store.Status{false: store.Firing, true: store.Resolved}[a.resolved], Fingerprint: a.name,
				Bundle: bundle,
			},
		})
		if g.joins && i%ratelimit.MaxBatch == 0 {
			g.lead = nil
		}
		g.resume(a)
		want = append(want, g.expect(a))
		g.resume(a)
	}
	got := make([]store.Outcome, 0, len(alerts))
	for part := range slices.Chunk(requests, ratelimit.MaxBatch) {
		answer, err := g.Admit(g.t.Context(), Scope, part)
		require.NoError(g.t, err)
		for _, d := range answer.Decisions {
			got = append(got, d.Outcome)
		}
	}
	require.Equal(g.t, want, got)
}

// resume lets the alerts of a call join the message of the group, as long as that fires. Where repeats are posted, a repeat
// begins another.
func (g *groups) resume(a alert) {
	begun := g.current
	if g.lead != nil || begun == nil || !begun.fires() || !g.handling.Repeats && !a.resolved && begun.alerts[a.name] {
		return
	}
	g.lead = begun
}

// expect is the outcome of an alert. It updates what the messages must contain.
func (g *groups) expect(a alert) store.Outcome {
	m := g.newest[a.name]
	if a.resolved {
		return g.expectResolve(a.name, m)
	}
	if m != nil && g.handling.Repeats && (m.alerts[a.name] || m.fires()) {
		m.alerts[a.name] = true
		return store.Merged
	}
	outcome := store.Merged
	if g.lead == nil {
		g.lead, outcome = &expected{alerts: map[string]bool{}}, store.Admitted
		g.messages = append(g.messages, g.lead)
	}
	g.lead.alerts[a.name] = true
	g.newest[a.name] = g.lead
	if g.joins {
		g.current = g.lead
	}
	return outcome
}

func (g *groups) expectResolve(name string, m *expected) store.Outcome {
	if m == nil || !m.alerts[name] {
		return store.Suppressed
	}
	for _, message := range g.messages {
		if _, has := message.alerts[name]; has {
			message.alerts[name] = false
		}
	}
	if len(m.alerts)+m.plain == 1 && !m.sent { // the resolve takes its place
		m.alerts, m.plain = map[string]bool{}, 1
		delete(g.newest, name)
		if m == g.current {
			g.current = nil
		}
		return store.Admitted
	}
	return store.Merged
}

// send posts or edits what is next, if anything is, as one of two replicas.
func (g *groups) send(sender store.Queue) bool {
	ctx := g.t.Context()
	c, err := sender.Claim(ctx, Scope, Unpaced, false)
	require.NoError(g.t, err)
	if c.State != store.Claimed {
		return false
	}
	if c.Entry.Kind == "message" {
		i := slices.IndexFunc(g.messages, func(m *expected) bool { return !m.sent })
		g.messages[i].sent = true
	}
	require.NoError(g.t, sender.Ack(ctx, Scope, c.Entry, store.Receipt{Channel: "C1", TS: "1.000001"}))
	require.NoError(g.t, sender.Release(ctx, Scope))
	return true
}

// alertGroups checks that each message shows of each of its alerts whether it fires, whatever arrives, in which order, and
// whichever replica sends; in the end no alert fires.
func alertGroups(rt *rapid.T, b Fixture, _ int) {
	g := newGroups(rt, b.Fresh(), rapid.Bool().Draw(rt, "repeats"), rapid.Bool().Draw(rt, "joins"))
	size := rapid.SampledFrom([]int{1, 2, 10, 11, 20, 128, 300}).Draw(rt, "size")
	for range rapid.IntRange(1, 8).Draw(rt, "steps") {
		g.Advance(time.Second)
		if rapid.IntRange(0, 2).Draw(rt, "send") == 0 {
			g.send(rapid.SampledFrom([]store.Queue{g.A, g.B}).Draw(rt, "sender"))
			continue
		}
		g.webhook(drawAlerts(rt, size))
		g.compare()
	}
	g.end()
}

// drawAlerts is a part of a group, in some order: it fires, or ends, or both.
func drawAlerts(rt *rapid.T, size int) []alert {
	kind := rapid.SampledFrom([]string{"fires", "ends", "mixed"}).Draw(rt, "kind")
	from, n := rapid.IntRange(0, size-1).Draw(rt, "from"), rapid.IntRange(1, size).Draw(rt, "alerts")
	stride := rapid.SampledFrom([]int{1, 7, 13}).Draw(rt, "stride")
	alerts := make([]alert, n)
	for i := range alerts {
		alerts[i].name = fmt.Sprintf("f%03d", (from+i*stride)%size)
		alerts[i].resolved = kind == "ends" || kind == "mixed" && (from+i*i)%3 == 0
	}
	return alerts
}

// end resolves all alerts that fire, and sends everything.
func (g *groups) end() {
	var alerts []alert
	for name, m := range g.newest {
		if m.alerts[name] {
			alerts = append(alerts, alert{name, true})
		}
	}
	if len(alerts) > 0 {
		g.webhook(alerts)
	}
	g.compare()
	for _, m := range g.messages {
		require.False(g.t, m.fires())
	}
	for g.send(g.A) || g.send(g.B) {
		g.compare()
	}
	report, err := g.Report(g.t.Context(), Scope)
	require.NoError(g.t, err)
	require.Zero(g.t, report.Ledger.Imbalance())
	require.Zero(g.t, report.Ledger.Pending)
}
