package server

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/events"
)

// Guard counts the refused requests of one relay process. It outlives reloads of the configuration. It also remembers the last
// refusals, the addresses that present wrong credentials, and the sessions that ended. All of that is bounded.
type Guard struct {
	refused   *prometheus.CounterVec
	panics    prometheus.Counter
	since     time.Time
	authDelay authDelay
	ended     endedSessions

	mu     sync.Mutex
	total  int64
	counts map[refusalKind]int64
	recent []Refusal // unordered

	presets map[string][]events.Code // counted from 0, by channel
}

// refusalKind is what refusals are counted by: a configured channel or "", and a code.
type refusalKind struct {
	channel string
	code    events.Code
}

// Refusal is a refused request. Requests with the same code, route, channel, source and address are one Refusal with a count.
type Refusal struct {
	Code    events.Code `json:"code"`
	Route   string      `json:"route"`   // a pattern like /hooks/{channel}, never the path itself
	Channel string      `json:"channel"` // "" if none of that name is configured
	Source  string      `json:"source"`  // "" if the path names none that exists
	Count   int64       `json:"count"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	From    string      `json:"from,omitempty"`    // the address; "" without the right to read texts
	Message string      `json:"message,omitempty"` // of the last reply, cut; "" without the right to read texts
}

// maxRefusals is how many refusals a process remembers, and maxRefusalMessage how many bytes of a message.
const (
	maxRefusals       = 50
	maxRefusalMessage = 200
)

// NewGuard returns a Guard that counts in a registry.
func NewGuard(registry prometheus.Registerer) *Guard {
	g := &Guard{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_requests_refused_total",
			Help: "Refused requests, by the code of the reply; channel is empty if no channel of that name is configured.",
		}, []string{"channel", "code"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_panics_total", Help: "Requests that made a handler of the relay panic.",
		}),
		since:     time.Now(),
		counts:    map[refusalKind]int64{},
		presets:   map[string][]events.Code{},
		authDelay: authDelay{byNetwork: map[netip.Prefix]*attempts{}},
		ended:     endedSessions{until: map[string]time.Time{}},
	}
	registry.MustRegister(presetRefusals{g}, g.panics)
	g.initCounters("", unauthorized, unknownChannel)
	return g
}

// initCounters sets counters to 0, so that the first refusal is an increase.
func (g *Guard) initCounters(channel string, codes ...events.Code) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.presets[channel] = codes
}

// allPresets returns the codes that are counted from 0, by channel.
func (g *Guard) allPresets() map[string][]events.Code {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.presets)
}

// add counts a refusal and remembers it.
func (g *Guard) add(r Refusal) {
	g.refused.WithLabelValues(r.Channel, string(r.Code)).Inc()
	r.First = r.Last
	r.Count = 1
	r.Message = cutBytes(r.Message, maxRefusalMessage)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total++
	g.counts[refusalKind{r.Channel, r.Code}]++
	same := slices.IndexFunc(g.recent, func(other Refusal) bool {
		return other.Code == r.Code && other.Route == r.Route && other.Channel == r.Channel &&
			other.Source == r.Source && other.From == r.From
	})
	switch {
	case same >= 0:
		known := &g.recent[same]
		known.Count++
		known.Last = r.Last
		known.Message = r.Message
	case len(g.recent) < maxRefusals:
		g.recent = append(g.recent, r)
	default:
		g.recent[g.victim()] = r
	}
}

// victim returns the index of the refusal to forget: the oldest, or, while more than half are without a channel, the oldest of
// those. Requests to random paths thus do not push out a sender whose token was changed.
func (g *Guard) victim() int {
	withoutChannel := 0
	for _, r := range g.recent {
		if r.Channel == "" {
			withoutChannel++
		}
	}
	oldest := -1
	for i, r := range g.recent {
		if withoutChannel > maxRefusals/2 && r.Channel != "" {
			continue
		}
		if oldest < 0 || r.Last.Before(g.recent[oldest].Last) {
			oldest = i
		}
	}
	return oldest
}

// RefusalCount is how many requests to a channel were refused with a code.
type RefusalCount struct {
	Channel string      `json:"channel"`
	Code    events.Code `json:"code"`
	Count   int64       `json:"count"`
}

// refusals is the reply of GET /api/v1/refusals.
type refusals struct {
	Since    time.Time      `json:"since"` // when this process started
	Total    int64          `json:"total"`
	Counts   []RefusalCount `json:"counts"`
	Refusals []Refusal      `json:"refusals"` // newest first
	Texts    bool           `json:"texts"`
}

// list returns the refusals, newest first, and the counts, largest first. Without texts, addresses and messages are left out.
func (g *Guard) list(texts bool) refusals {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := refusals{
		Since:    g.since.UTC(),
		Total:    g.total,
		Counts:   []RefusalCount{},
		Refusals: append([]Refusal{}, g.recent...),
		Texts:    texts,
	}
	for kind, n := range g.counts {
		all.Counts = append(all.Counts, RefusalCount{kind.channel, kind.code, n})
	}
	slices.SortFunc(all.Counts, func(a, b RefusalCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Code, b.Code))
	})
	slices.SortFunc(all.Refusals, func(a, b Refusal) int { return b.Last.Compare(a.Last) })
	for i := range all.Refusals {
		if !texts {
			all.Refusals[i].From = ""
			all.Refusals[i].Message = ""
		}
	}
	return all
}

// count returns how many requests were refused since the process started.
func (g *Guard) count() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}
