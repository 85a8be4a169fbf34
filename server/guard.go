package server

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/events"
)

// Guard is what one relay process remembers of the requests that it refused, whatever configuration is in effect: how many,
// the last of them, who presents wrong credentials, and which sessions ended. Everything in it is bounded.
type Guard struct {
	refused *prometheus.CounterVec
	panics  prometheus.Counter
	since   time.Time
	guesses guesses
	ended   endedSessions

	mu     sync.Mutex
	total  int64
	counts map[refusalKind]int64
	recent []Refusal // in no order
}

// refusalKind is what refusals are counted by: a configured channel or "", and a code of the table.
type refusalKind struct {
	channel string
	code    events.Code
}

// Refusal is a request that was refused, and how often it was repeated: same code, route, channel, source and address.
type Refusal struct {
	Code    events.Code `json:"code"`
	Route   string      `json:"route"`   // as /hooks/{channel}, never the path itself
	Channel string      `json:"channel"` // "" where none of that name is configured
	Source  string      `json:"source"`  // "" where the path names none that is known
	Count   int64       `json:"count"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	From    string      `json:"from,omitempty"`    // the address; left out for those who may not read texts
	Message string      `json:"message,omitempty"` // the last answer, cut; left out likewise
}

// maxRefusals is how many refusals a process remembers, maxRefusalMessage how many bytes of an answer.
const (
	maxRefusals       = 50
	maxRefusalMessage = 200
)

// NewGuard makes a Guard that counts in a registry.
func NewGuard(registry prometheus.Registerer) *Guard {
	g := &Guard{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_requests_refused_total",
			Help: "Refused requests, by the code of the answer; channel is empty if no channel of that name is configured.",
		}, []string{"channel", "code"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_panics_total", Help: "Requests that made a handler of the relay panic.",
		}),
		since: time.Now(), counts: map[refusalKind]int64{},
		guesses: guesses{by: map[netip.Prefix]*guesser{}},
		ended:   endedSessions{until: map[string]time.Time{}},
	}
	registry.MustRegister(g.refused, g.panics)
	g.expect("", unauthorized, unknownChannel)
	return g
}

// expect begins counters at 0, so that the first refusal is an increase.
func (g *Guard) expect(channel string, codes ...events.Code) {
	for _, code := range codes {
		g.refused.WithLabelValues(channel, string(code))
	}
}

// note counts a refusal and remembers it.
func (g *Guard) note(r Refusal) {
	g.refused.WithLabelValues(r.Channel, string(r.Code)).Inc()
	r.First, r.Count = r.Last, 1
	r.Message = cutBytes(r.Message, maxRefusalMessage)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total++
	g.counts[refusalKind{r.Channel, r.Code}]++
	same := slices.IndexFunc(g.recent, func(other Refusal) bool {
		return other.Code == r.Code && other.Route == r.Route && other.Channel == r.Channel && other.Source == r.Source && other.From == r.From
	})
	switch {
	case same >= 0:
		known := &g.recent[same]
		known.Count, known.Last, known.Message = known.Count+1, r.Last, r.Message
	case len(g.recent) < maxRefusals:
		g.recent = append(g.recent, r)
	default:
		g.recent[g.forget()] = r
	}
}

// forget chooses the refusal that makes room: the oldest of those without a channel while they are the most, so that
// strangers do not push out a sender whose token was changed; else the oldest.
func (g *Guard) forget() int {
	strangers := 0
	for _, r := range g.recent {
		if r.Channel == "" {
			strangers++
		}
	}
	oldest := -1
	for i, r := range g.recent {
		if strangers > maxRefusals/2 && r.Channel != "" {
			continue
		}
		if oldest < 0 || r.Last.Before(g.recent[oldest].Last) {
			oldest = i
		}
	}
	return oldest
}

// RefusalCount is how often a channel refused with a code.
type RefusalCount struct {
	Channel string      `json:"channel"`
	Code    events.Code `json:"code"`
	Count   int64       `json:"count"`
}

// refusals is what one process refused.
type refusals struct {
	Since    time.Time      `json:"since"` // when this process started
	Total    int64          `json:"total"`
	Counts   []RefusalCount `json:"counts"`
	Refusals []Refusal      `json:"refusals"` // the newest first
	Texts    bool           `json:"texts"`
}

// list is what was refused, the newest first, and the most frequent counts first.
func (g *Guard) list(texts bool) refusals {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := refusals{Since: g.since.UTC(), Total: g.total, Counts: []RefusalCount{}, Refusals: append([]Refusal{}, g.recent...), Texts: texts}
	for kind, n := range g.counts {
		all.Counts = append(all.Counts, RefusalCount{kind.channel, kind.code, n})
	}
	slices.SortFunc(all.Counts, func(a, b RefusalCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Code, b.Code))
	})
	slices.SortFunc(all.Refusals, func(a, b Refusal) int { return b.Last.Compare(a.Last) })
	for i := range all.Refusals {
		if !texts {
			all.Refusals[i].From, all.Refusals[i].Message = "", ""
		}
	}
	return all
}

// count is how many requests were refused.
func (g *Guard) count() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}
