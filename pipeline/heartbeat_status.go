package pipeline

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/problem"
	"slackrelay/store"
)

// States of a heartbeat.
const (
	HeartbeatOK      = "ok"
	HeartbeatWaiting = "waiting" // it has never been seen, and is not missing yet
	HeartbeatMissing = "missing"
)

// HeartbeatStatus is the state of a heartbeat.
type HeartbeatStatus struct {
	Name         string     `json:"name"`
	Channel      string     `json:"channel"`
	State        string     `json:"state"` // "ok", "waiting" or "missing"
	Every        float64    `json:"every"` // seconds
	Grace        float64    `json:"grace"` // seconds
	LastSeen     *time.Time `json:"last_seen,omitempty"`
	ExpectedBy   *time.Time `json:"expected_by,omitempty"`   // absent while it is missing
	MissingSince *time.Time `json:"missing_since,omitempty"` // present while it is missing
}

// List returns the state of all heartbeats, by name.
func (h *Heartbeats) List(ctx context.Context) ([]HeartbeatStatus, error) {
	list := make([]HeartbeatStatus, 0, len(h.byName))
	watch := problem.Watch{}
	if len(h.byName) > 0 {
		var err error
		if watch, _, _, err = h.loadWatch(ctx); err != nil {
			return nil, err
		}
	}
	for channel, all := range h.byChannel {
		for some := range slices.Chunk(all, store.MaxProblems) {
			now, documents, err := h.load(ctx, h.scopes[channel], namesOf(some)...)
			if err != nil {
				return nil, err
			}
			for i, heartbeat := range some {
				list = append(list, heartbeat.status(documents[i], watch, now))
			}
		}
	}
	slices.SortFunc(list, func(a, b HeartbeatStatus) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (h *Heartbeat) status(document store.Problem, watch problem.Watch, now int64) HeartbeatStatus {
	var state problem.HeartbeatState
	if document.Version == 0 || json.Unmarshal(document.Data, &state) != nil {
		state = h.NewState(watch, now)
	}
	status := HeartbeatStatus{
		Name: h.Name, Channel: h.Channel, State: HeartbeatOK, Every: h.Every.Seconds(), Grace: h.Grace.Seconds(),
		LastSeen: timeOf(state.Seen), ExpectedBy: timeOf(h.Expected(state, watch)), MissingSince: timeOf(state.Missing),
	}
	switch {
	case state.Missing != 0:
		status.State = HeartbeatMissing
	case state.Seen == 0:
		status.State = HeartbeatWaiting
	}
	return status
}

// timeOf returns a time of the store; nil = it is 0.
func timeOf(micros int64) *time.Time {
	if micros == 0 {
		return nil
	}
	at := time.UnixMicro(micros).UTC()
	return &at
}

// heartbeatGauges show what this process knows of heartbeats.
type heartbeatGauges struct {
	memory       *HeartbeatMemory
	missing, age *prometheus.Desc
}

// NewHeartbeatGauges returns a collector of the state of heartbeats, as a process read it last. Every replica shows the same, so take
// the maximum of relay_heartbeat_missing and the minimum of the age.
func NewHeartbeatGauges(memory *HeartbeatMemory) prometheus.Collector {
	return &heartbeatGauges{
		memory: memory,
		missing: prometheus.NewDesc("relay_heartbeat_missing", "1 while the heartbeat of a sender is missing, else 0.",
			[]string{"name"}, nil),
		age: prometheus.NewDesc("relay_heartbeat_age_seconds",
			"Time since the heartbeat of a sender was last seen; absent if it has never been seen.", []string{"name"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (g *heartbeatGauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.missing
	ch <- g.age
}

// Collect implements [prometheus.Collector].
func (g *heartbeatGauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, name string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, name)
	}
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	for name, known := range g.memory.known {
		if known.read.IsZero() {
			continue
		}
		missing := 0.0
		if known.state.Missing != 0 {
			missing = 1
		}
		gauge(g.missing, missing, name)
		if known.state.Seen == 0 {
			continue
		}
		age := time.Duration(known.now-known.state.Seen)*time.Microsecond + time.Since(known.read)
		if !known.arrived.IsZero() {
			age = min(age, time.Since(known.arrived))
		}
		gauge(g.age, max(0, age.Seconds()), name)
	}
}
