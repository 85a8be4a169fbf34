package pipeline

import (
	"iter"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

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
	register := promauto.With(registerer)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	seconds := func(name, help string, buckets ...float64) *prometheus.HistogramVec {
		return register.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"channel"})
	}
	return &Metrics{
		received: counter("relay_events_received_total", "Events that were received and counted.", "channel", "source"),
		events: counter("relay_events_total", "Events by their outcome at intake; level is set for drops only.",
			"channel", "category", "outcome", "level"),
		decisions: counter("relay_limiter_decisions_total", "Decisions of the limiter by who made them.", "decided_by"),
		messages: counter("relay_messages_total",
			"Attempts to post a message by their result: delivered, edited, failed, expired, retried, unsettled, unknown, found, resent.",
			"channel", "result"),
		forced: counter("relay_events_forced_total",
			"Events that an operator admitted past the limits; they are also counted as admitted.", "channel"),
		requests: seconds("relay_slack_request_seconds", "How long Slack took to answer.", .01, .025, .05, .1, .25, .5, 1, 2.5, 5),
		delivery: seconds("relay_delivery_seconds", "From admission to Slack's confirmation.",
			.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800),
		categories: map[string]bool{},
	}
}

// countReceived counts the decisions on a webhook's events.
func (m *Metrics) countReceived(all []events.Event, decisions []store.Decision) {
	for i, n := range runs(all, decisions) {
		m.received.WithLabelValues(all[i].Channel, all[i].Source).Add(float64(n))
		m.countDecided(&all[i], &decisions[i], n)
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
	m.events.WithLabelValues(e.Channel, m.categoryLabel(e.Category), store.Muted.String(), "").Inc()
}

// countDecided counts a decision on n events; delayed events are decided again.
func (m *Metrics) countDecided(e *events.Event, d *store.Decision, n int) {
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
