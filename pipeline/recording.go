package pipeline

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/events"
)

// Recorded is an event as [Recorder] hands it out: what decides what happens to it, without its texts and links. The id, the
// fingerprint and the group are hashes. It is one line of a trace for package simulation.
type Recorded struct {
	At          time.Time         `json:"at"`
	ID          string            `json:"id"`
	Category    string            `json:"category"`
	Severity    events.Severity   `json:"severity"`
	Status      events.Status     `json:"status,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Sender      string            `json:"sender,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`  // at most maxRecordedLabels
	Webhook     string            `json:"webhook,omitempty"` // the same for events that arrived together; "" = it arrived alone
	Group       string            `json:"group,omitempty"`   // of the sender; "" = none
}

// Bounds of what is recorded of one event, and of the webhooks that wait for a reader.
const (
	maxRecordedLabels = 20
	maxRecordedLabel  = 100 // bytes of a label's value
	maxUnread         = 1000
)

// MaxRecordings is how many recordings may run at a time: every webhook is compared with each.
const MaxRecordings = 16

// Recorder hands out the events that an [Intake] receives and that no rule or silence mutes, heartbeats included, while
// somebody listens. Without a listener it costs nothing. The zero value is ready to use, and a nil Recorder hands out nothing.
type Recorder struct {
	listening atomic.Int32
	webhooks  atomic.Int64

	mu        sync.Mutex
	listeners map[*Recording]bool
}

// Recording are the events of one channel for one listener.
type Recording struct {
	recorder *Recorder
	channel  string
	arrived  chan []Recorded
	lost     atomic.Int64
}

// Listen begins a recording of a channel; ok is false if too many run. Call Stop at its end.
func (r *Recorder) Listen(channel string) (_ *Recording, ok bool) {
	recording := &Recording{recorder: r, channel: channel, arrived: make(chan []Recorded, maxUnread)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.listeners) >= MaxRecordings {
		return nil, false
	}
	if r.listeners == nil {
		r.listeners = map[*Recording]bool{}
	}
	r.listeners[recording] = true
	r.listening.Add(1)
	return recording, true
}

// Stop ends the recording.
func (l *Recording) Stop() {
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	delete(l.recorder.listeners, l)
	l.recorder.listening.Add(-1)
}

// Arrived receives the events of each webhook.
func (l *Recording) Arrived() <-chan []Recorded { return l.arrived }

// Lost returns how many webhooks came while too many were unread, and are not recorded.
func (l *Recording) Lost() int64 { return l.lost.Load() }

// record hands out the events of a webhook that no rule or silence mutes, to those who listen to their channels.
func (r *Recorder) record(all []events.Event, mutedBy []string) {
	if r == nil || r.listening.Load() == 0 {
		return
	}
	webhook, now := r.webhooks.Add(1), time.Now().UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	for listener := range r.listeners {
		var recorded []Recorded
		for i := range all {
			if all[i].Channel == listener.channel && (mutedBy[i] == "" || strings.HasPrefix(mutedBy[i], mutedByHeartbeat)) {
				recorded = append(recorded, recordedOf(&all[i], now))
			}
		}
		if len(recorded) == 0 {
			continue
		}
		if len(recorded) > 1 {
			for i := range recorded {
				recorded[i].Webhook = strconv.FormatInt(webhook, 36)
			}
		}
		select {
		case listener.arrived <- recorded:
		default:
			listener.lost.Add(1)
		}
	}
}

func recordedOf(e *events.Event, at time.Time) Recorded {
	recorded := Recorded{
		At: at, ID: dedupeID(e), Category: e.Category, Severity: e.Severity, Status: e.Status,
		Fingerprint: hashName(e.Source, e.Fingerprint), Sender: e.Sender, Group: groupHash(e),
	}
	for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
		if value := e.Labels[name]; len(recorded.Labels) < maxRecordedLabels && len(value) <= maxRecordedLabel {
			if recorded.Labels == nil {
				recorded.Labels = map[string]string{}
			}
			recorded.Labels[name] = value
		}
	}
	return recorded
}
