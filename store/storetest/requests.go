package storetest

import (
	"strings"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var Scope = store.Channel{Group: "alerts", Name: "alerts"}

// limits are the windows of the two levels in most tests.
type Limits struct{ Channel, Category ratelimit.Window }

func PerMinute(limit int64) ratelimit.Window {
	return ratelimit.Window{Limit: limit, Per: time.Minute}
}

var Small = Limits{Channel: PerMinute(10), Category: PerMinute(3)}

func (l Limits) Request(id, category string) store.Request {
	return store.Request{
		ID: id, Category: category,
		Levels: []ratelimit.Level{
			store.Outer(Scope.Group, l.Channel),
			store.Inner(Scope, "category", category, l.Category),
		},
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
	}
}

// told is a request that is handled, of an alert with a fingerprint.
func (l Limits) Told(h *store.MessagePolicy, id, category string, status store.Status, fingerprint string) store.Request {
	r := l.Request(id, category)
	r.Handling = h
	r.Event = store.Event{Status: status, Fingerprint: fingerprint, Severity: "error", Title: "title " + id}
	return r
}

const LargeEvent = 32 << 10

// large is a request with as long a message as is kept.
func (l Limits) Large(h *store.MessagePolicy, id, category string) store.Request {
	r := l.Told(h, id, category, "", "")
	r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `","text":"` + strings.Repeat("x", LargeEvent) + `"}`)}
	return r
}

// with is a request for so many units.
func With(r store.Request, units int64) store.Request {
	r.N = units
	return r
}

func Outcomes(decisions []store.Decision) string {
	var s string
	for _, d := range decisions {
		s += map[store.Outcome]string{
			store.Admitted: "+", store.Dropped: "-", store.Duplicate: "=", store.Never: "!",
		}[d.Outcome]
	}
	return s
}

func OutcomesOf(decisions []store.Decision) []store.Outcome {
	all := make([]store.Outcome, len(decisions))
	for i, d := range decisions {
		all[i] = d.Outcome
	}
	return all
}

var Payload = []byte(`{"title":"` + strings.Repeat("x", 390) + `"}`)
