package pipeline

import (
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/events"
	"slackrelay/store"
)

// maxCategoryLabels is how many categories a process names in its metrics; the rest are "other".
const maxCategoryLabels = 1000

// Results of relay_messages_total.
const (
	resultDelivered = "delivered" // in Slack, and settled
	resultFailed    = "failed"    // in the dead letters
	resultRetried   = "retried"   // will be tried again
	resultUnsettled = "unsettled" // in Slack, but that could not be written down: it may be posted twice
	resultEdited    = "edited"    // a message in Slack was changed
	resultExpired   = "expired"   // too old
	resultUnknown   = "unknown"   // nobody knows whether it was posted
	resultFound     = "found"     // it was posted, as a lookup told
	resultResent    = "resent"    // it may have been posted, and is sent again: it may be posted twice
)

// Metrics are the counters of this process; sum them over replicas.
type Metrics struct {
	received  *prometheus.CounterVec
	events    *prometheus.CounterVec
	decisions *prometheus.CounterVec
	messages  *prometheus.CounterVec
	forced    *prometheus.CounterVec
	requests  *prometheus.HistogramVec
	delivery  *prometheus.HistogramVec

	mu         sync.Mutex
	categories map[string]bool
}

// NewMetrics registers the counters.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_events_received_total", Help: "Events that were taken in and counted.",
		}, []string{"channel", "source"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_events_total", Help: "Events by what became of them at intake; level is set for drops only.",
		}, []string{"channel", "category", "outcome", "level"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_limiter_decisions_total", Help: "Decisions of the limiter by who made them.",
		}, []string{"decided_by"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_messages_total", Help: "Attempts to post a message by their result: delivered, edited, failed, expired, retried, unsettled, unknown, found, resent.",
		}, []string{"channel", "result"}),
		forced: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_events_forced_total", Help: "Events that a person admitted past the limits; they are also counted as admitted.",
		}, []string{"channel"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_slack_request_seconds", Help: "How long Slack took to answer.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"channel"}),
		delivery: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_delivery_seconds", Help: "From admission to Slack's confirmation.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}, []string{"channel"}),
		categories: map[string]bool{},
	}
	registerer.MustRegister(m.received, m.events, m.decisions, m.messages, m.forced, m.requests, m.delivery)
	return m
}

func (m *Metrics) taken(all []events.Event, decisions []store.Decision) {
	for i, n := range runs(all, decisions) {
		m.received.WithLabelValues(all[i].Channel, all[i].Source).Add(float64(n))
		m.decided(&all[i], decisions[i], n)
	}
}

// runs are where events begin that are counted alike, and how many: a storm is looked at once.
func runs(all []events.Event, decisions []store.Decision) iter.Seq2[int, int] {
	return func(yield func(begin, n int) bool) {
		for i := 0; i < len(decisions); {
			n := 1
			for i+n < len(decisions) && alike(&all[i], &all[i+n], decisions[i], decisions[i+n]) {
				n++
			}
			if !yield(i, n) {
				return
			}
			i += n
		}
	}
}

// alike tells whether two events are counted alike.
func alike(a, b *events.Event, ofA, ofB store.Decision) bool {
	return a.Category == b.Category && a.Source == b.Source && a.Channel == b.Channel && outcomeOf(ofA) == outcomeOf(ofB) && levelOf(ofA) == levelOf(ofB) &&
		ofA.DecidedBy == ofB.DecidedBy
}

// muted counts what a rule or a silence kept out.
func (m *Metrics) muted(e *events.Event) {
	m.received.WithLabelValues(e.Channel, e.Source).Inc()
	m.events.WithLabelValues(e.Channel, m.category(e.Category), mutedOutcome, "").Inc()
}

// decided counts a decision of n events; what was delayed is decided again.
func (m *Metrics) decided(e *events.Event, d store.Decision, n int) {
	m.events.WithLabelValues(e.Channel, m.category(e.Category), outcomeOf(d), levelOf(d)).Add(float64(n))
	m.decisions.WithLabelValues(string(d.DecidedBy)).Add(float64(n))
}

// category is the category as a label value.
func (m *Metrics) category(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.categories[name] {
		if len(m.categories) >= maxCategoryLabels {
			return "other"
		}
		m.categories[name] = true
	}
	return name
}

func (m *Metrics) settled(channel, result string) { m.messages.WithLabelValues(channel, result).Inc() }

func (m *Metrics) forcedIn(channel string, n int) { m.forced.WithLabelValues(channel).Add(float64(n)) }

func (m *Metrics) answered(channel string, took time.Duration) {
	m.requests.WithLabelValues(channel).Observe(took.Seconds())
}

func (m *Metrics) delivered(channel string, age time.Duration) {
	m.delivery.WithLabelValues(channel).Observe(age.Seconds())
}
