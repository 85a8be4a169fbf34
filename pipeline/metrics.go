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
	fallbacks *prometheus.CounterVec
	requests  *prometheus.HistogramVec
	delivery  *prometheus.HistogramVec

	channels *ChannelLabels

	mu         sync.Mutex
	categories map[string]bool
	counters   map[eventLabels]eventCounters
}

// eventLabels are the labels that events are counted by.
type eventLabels struct {
	channel, source, category, outcome, level string
	decidedBy                                 store.DecidedBy
}

// eventCounters are the counters of events with the same labels. They are kept, because each webhook needs them, and a look-up by
// all labels in three metrics takes as long as its decision.
type eventCounters struct{ received, events, decisions prometheus.Counter }

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
		fallbacks: counter("relay_template_fallbacks_total",
			"Events that a channel template sent to its fallback: no_value, value, full or taken.", "template", "reason"),
		requests: seconds("relay_slack_request_seconds", "How long Slack took to answer.", .01, .025, .05, .1, .25, .5, 1, 2.5, 5),
		delivery: seconds("relay_delivery_seconds", "From admission to Slack's confirmation.",
			.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800),
		categories: map[string]bool{}, counters: map[eventLabels]eventCounters{},
	}
}

// Bound makes labels bound the channels with series of their own. It must be called before anything is counted.
func (m *Metrics) Bound(labels *ChannelLabels) {
	m.channels = labels
	labels.Bound(m.received, m.events, m.messages, m.forced, m.requests, m.delivery, m)
}

// DeletePartialMatch forgets the counters of series that were deleted.
func (m *Metrics) DeletePartialMatch(prometheus.Labels) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	forgotten := len(m.counters)
	clear(m.counters)
	return forgotten
}

// countReceived counts the decisions on a webhook's events.
func (m *Metrics) countReceived(all []events.Event, decisions []store.Decision) {
	for i, n := range runs(all, decisions) {
		c := m.countersOf(&all[i], &decisions[i])
		c.received.Add(float64(n))
		c.events.Add(float64(n))
		c.decisions.Add(float64(n))
	}
}

// countersOf returns the counters of an event with a decision.
func (m *Metrics) countersOf(e *events.Event, d *store.Decision) eventCounters {
	channel := m.channels.Of(e.Channel)
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := eventLabels{channel, e.Source, m.categoryLabel(e.Category), outcomeOf(d), levelOf(d), d.DecidedBy}
	c, known := m.counters[labels]
	if !known {
		c = eventCounters{
			received:  m.received.WithLabelValues(labels.channel, labels.source),
			events:    m.events.WithLabelValues(labels.channel, labels.category, labels.outcome, labels.level),
			decisions: m.decisions.WithLabelValues(string(labels.decidedBy)),
		}
		m.counters[labels] = c
	}
	return c
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
	m.received.WithLabelValues(m.channels.Of(e.Channel), e.Source).Inc()
	m.decided(e, store.Muted.String(), "").Inc()
}

// countDecided counts the decision on n delayed events, which were received before.
func (m *Metrics) countDecided(e *events.Event, d *store.Decision, n int) {
	m.decided(e, outcomeOf(d), levelOf(d)).Add(float64(n))
	m.decisions.WithLabelValues(string(d.DecidedBy)).Add(float64(n))
}

// decided returns the counter of events with a decision.
func (m *Metrics) decided(e *events.Event, outcome, level string) prometheus.Counter {
	channel := m.channels.Of(e.Channel)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.events.WithLabelValues(channel, m.categoryLabel(e.Category), outcome, level)
}

// countTemplateFallback counts an event that a template sent to its fallback.
func (m *Metrics) countTemplateFallback(template, reason string) {
	if m != nil {
		m.fallbacks.WithLabelValues(template, reason).Inc()
	}
}

// initTemplateFallbacks sets the counters of a template to 0, so that the first such event shows as an increase.
func (m *Metrics) initTemplateFallbacks(template string) {
	if m == nil {
		return
	}
	for _, reason := range []string{NoValue, BadValue, FullTemplate, TakenName} {
		m.fallbacks.WithLabelValues(template, reason)
	}
}

// categoryLabel returns a category as a label value. The caller holds mu.
func (m *Metrics) categoryLabel(name string) string {
	if !m.categories[name] {
		if len(m.categories) >= maxCategoryLabels {
			return otherLabel
		}
		m.categories[name] = true
	}
	return name
}

// initForced sets the counter of a channel to 0, so that the first forced event shows as an increase. Of so many channels, all
// must have series of their own.
func (m *Metrics) initForced(channel string, channels int) {
	if m.channels.Fits(channels) {
		m.forced.WithLabelValues(channel)
	}
}

// countForced counts n events that were admitted past the limits.
func (m *Metrics) countForced(channel string, n int) {
	m.forced.WithLabelValues(m.channels.Of(channel)).Add(float64(n))
}
