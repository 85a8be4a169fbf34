package server

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"slackrelay/events"
)

// presetRefusals are the counters of refused requests, with those that are still 0. They are shown, so that the first refusal
// is an increase, and not kept: nearly all of the codes of nearly all channels stay at 0.
type presetRefusals struct{ guard *Guard }

// Describe implements [prometheus.Collector].
func (p presetRefusals) Describe(ch chan<- *prometheus.Desc) { p.guard.refused.Describe(ch) }

// Collect implements [prometheus.Collector].
func (p presetRefusals) Collect(ch chan<- prometheus.Metric) {
	counted := p.collectCounted(ch)
	descs := make(chan *prometheus.Desc, 1)
	p.Describe(descs)
	desc := <-descs
	for channel, codes := range p.guard.allPresets() {
		for _, code := range codes {
			if !counted[refusalKind{channel, code}] {
				ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, 0, channel, string(code))
			}
		}
	}
}

// collectCounted collects the counters that were used, and returns their labels.
func (p presetRefusals) collectCounted(ch chan<- prometheus.Metric) map[refusalKind]bool {
	used := make(chan prometheus.Metric)
	go func() {
		defer close(used)
		p.guard.refused.Collect(used)
	}()
	counted := map[refusalKind]bool{}
	for metric := range used {
		ch <- metric
		var written dto.Metric
		if metric.Write(&written) != nil {
			continue // the registry reports it
		}
		kind := refusalKind{}
		for _, label := range written.GetLabel() {
			if label.GetName() == "channel" {
				kind.channel = label.GetValue()
			} else {
				kind.code = events.Code(label.GetValue())
			}
		}
		counted[kind] = true
	}
	return counted
}
