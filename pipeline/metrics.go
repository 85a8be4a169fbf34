package pipeline

import (
	"iter"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/events"
	"slackrelay/store"
)

// maxCategoryLabels is how many categories a process names in its metrics; the others are counted as "other".
const maxCategoryLabels = 1000

// Results of relay_messages_total.
const (
	resultDelivered = "delivered" // posted, and acknowledged in the outbox
	resultFailed    = "failed"    // in the dead letters
	resultRetried   = "retried"   // is tried again
	resultUnsettled = "unsettled" // posted, but that could not be stored: it may be posted twice
	resultEdited    = "edited"    // a message in Slack was edited
	resultExpired   = "expired"   // older than its time to live
	resultUnknown   = "unknown"   // its delivery state is unknown
	resultFound     = "found"     // a lookup found that it was posted
	resultResent    = "resent"    // its delivery state is unknown, and it is sent again: it may be posted twice
)

// Metrics are counters and histograms of this process; sum them over replicas.
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

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_events_received_total", Help: "Events that were received and counted.",
		}, []string{"channel", "source"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_events_total", Help: "Events by their outcome at intake; level is set for drops only.",
		}, []string{"channel", "category", "outcome", "level"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_limiter_decisions_total", Help: "Decisions of the limiter by who made them.",
		}, []string{"decided_by"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_messages_total",
			Help: "Attempts to post a message by their result: delivered, edited, failed, expired, retried, unsettled, unknown, found, resent.",
		}, []string{"channel", "result"}),
		forced: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_events_forced_total", Help: "Events that an operator admitted past the limits; they are also counted as admitted.",
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

// countReceived counts the decisions on a webhook's events.
func (m *Metrics) countReceived(all []events.Event, decisions []store.Decision) {
	for i, n := range runs(all, decisions) {
		m.received.WithLabelValues(all[i].Channel, all[i].Source).Add(float64(n))
		m.countDecided(&all[i], decisions[i], n)
	}
}

// runs yields the start and the length of each run of consecutive events with equal labels, so that a storm is counted in
// few steps.
func runs(all []events.Event, decisions []store.Decision) iter.Seq2[int, int] {
	return func(yield func(start, n int) bool) {
		for i := 0; i < len(decisions); {
			n := 1
			for i+n < len(decisions) && equalLabels(&all[i], &all[i+n], &decisions[i], &decisions[i+n]) {
				n++
			}
			if !yield(i, n) {
				return
			}
			i += n
		}
	}
}

// equalLabels reports whether two events, a and b, are counted under the same labels.
func equalLabels(a, b *events.Event, onA, onB *store.Decision) bool {
	return a.Category == b.Category && a.Source == b.Source && a.Channel == b.Channel &&
		onA.Outcome == onB.Outcome && onA.Level == onB.Level && onA.DecidedBy == onB.DecidedBy
}

// countMuted counts an event that a rule or a silence muted.
func (m *Metrics) countMuted(e *events.Event) {
	m.received.WithLabelValues(e.Channel, e.Source).Inc()
	m.events.WithLabelValues(e.Channel, m.categoryLabel(e.Category), mutedOutcome, "").Inc()
}

// countDecided counts a decision on n events; delayed events are decided again.
func (m *Metrics) countDecided(e *events.Event, d store.Decision, n int) {
	m.events.WithLabelValues(e.Channel, m.categoryLabel(e.Category), outcomeOf(d), levelOf(d)).Add(float64(n))
	m.decisions.WithLabelValues(string(d.DecidedBy)).Add(float64(n))
}

// categoryLabel returns a category as a label value.
func (m *Metrics) categoryLabel(name string) string {
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

// countForced counts n events that were admitted past the limits.
func (m *Metrics) countForced(channel string, n int) {
	m.forced.WithLabelValues(channel).Add(float64(n))
}
