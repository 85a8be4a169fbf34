package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"slackrelay/pipeline"
)

// A scrape waits so long for a new reading of the channels, and then shows the last one. The first scrape has none.
const (
	scrapeWait      = 300 * time.Millisecond
	firstScrapeWait = time.Second
)

// gauges show the state that all replicas share, as it was read last. Every replica shows the same, so take the maximum over
// replicas.
type gauges struct {
	source func() *pipeline.StatusReader
	labels *pipeline.ChannelLabels

	pending, held, oldest, used, imbalance, paused, faulty, up, fallback, replicas, lost, age *prometheus.Desc
}

// NewGauges returns a collector of the state that all replicas share. source is called at each scrape, because a reload replaces
// it. labels bound the channels with series of their own; nil = all channels have.
func NewGauges(source func() *pipeline.StatusReader, labels *pipeline.ChannelLabels) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	const others = " Channels without series of their own (metrics_channels) are summed under channel=\"other\"."
	return &gauges{
		source:  source,
		labels:  labels,
		pending: desc("relay_outbox_pending", "Messages that wait to be sent to Slack."+others, "channel"),
		held:    desc("relay_held", "Events that wait for their resolve, or until their hold ends."+others, "channel"),
		oldest: desc("relay_outbox_oldest_seconds",
			"Age of the oldest message that waits to be sent to Slack; of channel=\"other\", of all channels without series of their own.",
			"channel"),
		used: desc("relay_limit_used", "Used slots of a level within its window."+others, "channel", "level"),
		imbalance: desc("relay_ledger_imbalance",
			"By how much the counts of the ledger do not add up; 0 if they do."+others, "channel"),
		paused: desc("relay_channel_paused", "1 while a channel is paused."+others, "channel", "reason"),
		faulty: desc("relay_channel_destination_fault",
			"1 while Slack refuses to post to a channel's destination, or refuses its token."+others, "channel"),
		up: desc("relay_redis_up", "1 if the shared state can be read."),
		fallback: desc("relay_channel_fallback",
			"1 while a channel is decided without Redis; its counters and gauges are then those of this replica."+others, "channel", "policy"),
		replicas: desc("relay_replicas", "Replicas that share the limits, seen or configured."),
		lost:     desc("relay_redis_state_lost_total", "How often Redis returned without its data."),
		age:      desc("relay_status_age_seconds", "Age of the last reading of the channels, which the gauges with the label channel show."),
	}
}

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		g.pending, g.held, g.oldest, g.used, g.imbalance, g.paused, g.faulty, g.up, g.fallback, g.replicas, g.lost, g.age,
	} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	now := g.source()
	health := now.Health()
	gauge(g.replicas, float64(health.Replicas))
	ch <- prometheus.MustNewConstMetric(g.lost, prometheus.CounterValue, float64(health.StateLost))
	sums := newChannelSums()
	fits := g.labels.Fits(len(now.Channels()))
	for _, away := range health.Away {
		label := away.Channel
		if !fits {
			label = g.labels.Known(away.Channel)
		}
		sums.fallback[[2]string{label, string(away.Policy)}]++
	}
	ctx, cancel := context.WithTimeout(context.Background(), firstScrapeWait)
	defer cancel()
	up := 1.0
	if len(health.Away) > 0 || now.Ping(ctx) != nil {
		up = 0
	}
	gauge(g.up, up)
	if reading := lastReading(ctx, now); reading != nil {
		gauge(g.age, time.Since(reading.At).Seconds())
		g.add(sums, reading)
	}
	g.collect(sums, gauge)
}

// lastReading returns a reading of the channels: a new one if that is made in time, else the last; nil = there is none.
func lastReading(ctx context.Context, status *pipeline.StatusReader) *pipeline.Reading {
	if status.Latest() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, scrapeWait)
		defer cancel()
	}
	if reading, err := status.Reading(ctx); err == nil {
		return reading
	}
	return status.Latest()
}

// add adds the channels of a reading.
func (g *gauges) add(sums *channelSums, reading *pipeline.Reading) {
	all := g.labels.Fits(len(reading.Channels))
	for i := range reading.Channels {
		status := &reading.Channels[i]
		label := status.Channel
		switch {
		case all:
		case status.Ledger.Pending > 0 || status.Held > 0 || status.State.PausedUntil != nil || status.State.Fault != nil || status.Ledger.Imbalance() != 0:
			label = g.labels.Of(status.Channel)
		case status.Active:
			label = g.labels.Offer(status.Channel)
		default:
			label = g.labels.Known(status.Channel)
		}
		sums.add(label, status)
	}
}

// collect sends the sums.
func (g *gauges) collect(sums *channelSums, gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	for label, sum := range sums.byLabel {
		gauge(g.pending, float64(sum.pending), label)
		gauge(g.held, float64(sum.held), label)
		gauge(g.oldest, sum.oldest.Seconds(), label)
		gauge(g.imbalance, float64(sum.imbalance), label)
		gauge(g.faulty, float64(sum.faulty), label)
		for level, used := range sum.used {
			gauge(g.used, float64(used), label, level)
		}
		if len(sum.paused) == 0 {
			gauge(g.paused, 0, label, "")
		}
		for reason, channels := range sum.paused {
			gauge(g.paused, float64(channels), label, reason)
		}
	}
	for key, channels := range sums.fallback {
		gauge(g.fallback, float64(channels), key[0], key[1])
	}
}

func (s *Server) metrics() http.Handler {
	return promhttp.HandlerFor(s.opts.Registry, promhttp.HandlerOpts{Registry: s.opts.Registry})
}
