package server

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"slackrelay/pipeline"
)

// gauges are read from the shared state at each scrape: every replica shows the same, so take the maximum
// over replicas.
type gauges struct {
	status func() *pipeline.Status

	pending, oldest, used, imbalance, paused, up, fallback, replicas, lost *prometheus.Desc
}

// NewGauges is the collector of what all replicas share; status is asked for at each scrape.
func NewGauges(status func() *pipeline.Status) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &gauges{
		status:    status,
		pending:   desc("relay_outbox_pending", "Messages that wait for Slack.", "channel"),
		oldest:    desc("relay_outbox_oldest_seconds", "Age of the oldest message that waits for Slack.", "channel"),
		used:      desc("relay_limit_used", "Slots of a level that are used within its window.", "channel", "level"),
		imbalance: desc("relay_ledger_imbalance", "By how much the counts of the ledger do not add up; 0 when all is well.", "channel"),
		paused:    desc("relay_channel_paused", "1 while a channel sends nothing.", "channel", "reason"),
		up:        desc("relay_redis_up", "1 when the shared state can be read."),
		fallback:  desc("relay_channel_fallback", "1 while a channel is decided without Redis; the counters and gauges are this replica's alone then.", "channel", "policy"),
		replicas:  desc("relay_replicas", "Relays that share the limits, heard or expected."),
		lost:      desc("relay_redis_state_lost_total", "How often Redis came back without its data."),
	}
}

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.pending, g.oldest, g.used, g.imbalance, g.paused, g.up, g.fallback, g.replicas, g.lost} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	now := g.status()
	health := now.Health()
	gauge(g.replicas, float64(health.Replicas))
	ch <- prometheus.MustNewConstMetric(g.lost, prometheus.CounterValue, float64(health.StateLost))
	for _, away := range health.Away {
		gauge(g.fallback, 1, away.Channel, string(away.Policy))
	}
	up := 1.0
	if now.Ping(ctx) != nil || len(health.Away) > 0 {
		up = 0
	}
	gauge(g.up, up)
	all, err := now.All(ctx)
	if err != nil {
		return
	}
	for _, status := range all {
		gauge(g.pending, float64(status.Ledger.Pending), status.Channel)
		gauge(g.oldest, status.Oldest.Seconds(), status.Channel)
		gauge(g.imbalance, float64(status.Ledger.Imbalance()), status.Channel)
		for _, level := range status.Levels {
			gauge(g.used, float64(level.Used), status.Channel, level.Level)
		}
		paused := 0.0
		if status.State.PausedUntil != nil {
			paused = 1
		}
		gauge(g.paused, paused, status.Channel, status.State.Reason)
	}
}

func (s *Server) metrics() http.Handler {
	return promhttp.HandlerFor(s.opts.Registry, promhttp.HandlerOpts{Registry: s.opts.Registry})
}
