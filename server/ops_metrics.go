package server

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"slackrelay/pipeline"
)

// gauges are read from the shared state at each scrape. Every replica shows the same, so take the maximum over replicas.
type gauges struct {
	source func() *pipeline.StatusReader

	pending, oldest, used, imbalance, paused, up, fallback, replicas, lost *prometheus.Desc
}

// NewGauges returns a collector of the state that all replicas share. source is called at each scrape, because a reload replaces
// it.
func NewGauges(source func() *pipeline.StatusReader) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &gauges{
		source:    source,
		pending:   desc("relay_outbox_pending", "Messages that wait to be sent to Slack.", "channel"),
		oldest:    desc("relay_outbox_oldest_seconds", "Age of the oldest message that waits to be sent to Slack.", "channel"),
		used:      desc("relay_limit_used", "Used slots of a level within its window.", "channel", "level"),
		imbalance: desc("relay_ledger_imbalance", "By how much the counts of the ledger do not add up; 0 if they do.", "channel"),
		paused:    desc("relay_channel_paused", "1 while a channel is paused.", "channel", "reason"),
		up:        desc("relay_redis_up", "1 if the shared state can be read."),
		fallback: desc("relay_channel_fallback",
			"1 while a channel is decided without Redis; its counters and gauges are then those of this replica.", "channel", "policy"),
		replicas: desc("relay_replicas", "Replicas that share the limits, seen or configured."),
		lost:     desc("relay_redis_state_lost_total", "How often Redis returned without its data."),
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
	now := g.source()
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
