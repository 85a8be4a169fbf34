package interaction

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// kind is what somebody did.
type kind string

const (
	click   kind = "click"
	command kind = "command"
	other   kind = "other"
)

// result is what became of it.
type result string

const (
	done     result = "done"     // the Handler has acted before the acknowledgement
	late     result = "late"     // it took longer
	failed   result = "failed"   // it did not end in time, or panicked
	repeated result = "repeated" // the same request came before
	busy     result = "busy"     // too many are in flight
	refused  result = "refused"  // of another app or workspace, or malformed
	ignored  result = "ignored"  // nothing that the relay offers
)

// Metrics count what Slack delivers.
type Metrics struct {
	all     *prometheus.CounterVec
	seconds prometheus.Histogram
	sockets prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		all: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_interactions_total", Help: "Clicks and commands that Slack delivered, by what became of them.",
		}, []string{"kind", "result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "relay_interaction_duration_seconds", Help: "From the delivery of a click or command to its acknowledgement.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
		sockets: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "relay_slack_sockets", Help: "Sockets to Slack that this replica has open.",
		}),
	}
	for _, k := range []kind{click, command} {
		for _, r := range []result{done, late, failed, busy, refused} {
			m.all.WithLabelValues(string(k), string(r))
		}
	}
	registerer.MustRegister(m.all, m.seconds, m.sockets)
	return m
}

func (m *Metrics) count(k kind, r result) { m.all.WithLabelValues(string(k), string(r)).Inc() }

func (m *Metrics) acknowledged(after time.Duration) { m.seconds.Observe(after.Seconds()) }
