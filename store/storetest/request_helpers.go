package storetest

import (
	"strings"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Scope is the channel of most tests.
var Scope = store.Channel{Group: "alerts", Name: "alerts"}

// Limits are the windows of the two levels in most tests.
type Limits struct{ Channel, Category ratelimit.Window }

// ChannelLevel is the channel level of a limit group, with the default strategy.
func ChannelLevel(group string, windows ...ratelimit.Window) ratelimit.Level {
	return store.ChannelLevel(ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: windows}, group)
}

// Level is the level of one value of name ("errors" of "category", for example) with the default strategy.
func Level(channel store.Channel, name, value string, windows ...ratelimit.Window) ratelimit.Level {
	return store.LevelOf(ratelimit.LevelSpec{Name: name, Windows: windows}, channel, value)
}

// PerMinute is a window of a minute.
func PerMinute(limit int64) ratelimit.Window {
	return ratelimit.Window{Limit: limit, Per: time.Minute}
}

// Small are limits that a few requests reach.
var Small = Limits{Channel: PerMinute(10), Category: PerMinute(3)}

// Request is a request of both levels, with a payload that contains its id.
func (l Limits) Request(id, category string) store.Request {
	return store.Request{
		Request: ratelimit.Request{
			ID:       id,
			Category: category,
			Levels: []ratelimit.Level{
				ChannelLevel(Scope.Group, l.Channel),
				Level(Scope, "category", category, l.Category),
			},
		},
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
	}
}

// AlertRequest is a request of an alert, with a policy.
func (l Limits) AlertRequest(h *store.MessagePolicy, id, category string, status store.Status, fingerprint string) store.Request {
	r := l.Request(id, category)
	r.Policy = h
	r.Event = store.Event{Status: status, Fingerprint: fingerprint, Severity: "error", Title: "title " + id}
	return r
}

// LargeEvent is the size of the largest payload that is kept whole.
const LargeEvent = 32 << 10

// Large is a request with a payload of [LargeEvent] bytes.
func (l Limits) Large(h *store.MessagePolicy, id, category string) store.Request {
	r := l.AlertRequest(h, id, category, "", "")
	r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `","text":"` + strings.Repeat("x",
		LargeEvent) + `"}`)}
	return r
}

// With is a request for so many units.
func With(r store.Request, units int64) store.Request {
	r.N = units
	return r
}

// Outcomes are the outcomes of decisions, a letter each: + admitted, - dropped, = duplicate, ! never.
func Outcomes(decisions []store.Decision) string {
	var s strings.Builder
	for _, d := range decisions {
		s.WriteString(map[store.Outcome]string{
			store.Admitted: "+", store.Dropped: "-", store.Duplicate: "=", store.Never: "!",
		}[d.Outcome])
	}
	return s.String()
}

// OutcomesOf are the outcomes of decisions.
func OutcomesOf(decisions []store.Decision) []store.Outcome {
	all := make([]store.Outcome, len(decisions))
	for i, d := range decisions {
		all[i] = d.Outcome
	}
	return all
}

// Payload is a payload of an ordinary length.
var Payload = []byte(`{"title":"` + strings.Repeat("x", 390) + `"}`)
