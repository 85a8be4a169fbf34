package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// ErrUnknownHeartbeat is returned for a heartbeat that is not configured.
var ErrUnknownHeartbeat = errors.New("unknown heartbeat")

// HeartbeatSource is the source, and the default category, of the events that a heartbeat is missing or back.
const HeartbeatSource = "heartbeat"

// Heartbeat is a regular sign of life of a sender: a dead man's switch. The heartbeats of replicas, in package
// ratelimit/replica, are another thing.
type Heartbeat struct {
	problem.Heartbeat
	Channel  string                   // is notified when the heartbeat is missing or back
	Severity events.Severity          // of these events
	Category string                   // of these events
	Match    []events.CompiledMatcher // events of the channel that fulfil all of them are heartbeats; empty = none are
}

// document is the name of the heartbeat's document.
func (h *Heartbeat) document() string { return heartbeatPrefix + h.Name }

// HeartbeatDocuments is the owner of the documents of heartbeats, for [ProblemWork].
const HeartbeatDocuments = "heartbeat"

// heartbeatPrefix begins the names of the documents of heartbeats.
const heartbeatPrefix = HeartbeatDocuments + "/"

// Matches reports whether an event of its channel is this heartbeat.
func (h *Heartbeat) Matches(e *events.Event, header http.Header) bool {
	for _, m := range h.Match {
		if !m.Matches(e, header) {
			return false
		}
	}
	return len(h.Match) > 0
}

// HeartbeatOptions configure [Heartbeats]. All fields but Logger and Timeout are needed:
//
//	heartbeats := pipeline.NewHeartbeats(pipeline.HeartbeatOptions{
//		Heartbeats: configured, Channels: channels, Store: redis, Memory: memory, Admit: intake.Admit,
//		Outboxes: []pipeline.NoticeQueue{queue}, Wake: courier.Wake,
//	})
type HeartbeatOptions struct {
	Heartbeats []Heartbeat
	Channels   []Channel // that the heartbeats name
	Store      ProblemStore
	Memory     *HeartbeatMemory
	// Admit admits the events that a heartbeat is missing or back; that of an [Intake].
	Admit func(ctx context.Context, a Arrival) (Receipt, error)
	// Outboxes queue notices to the operators: the first that is available. Empty = there are no notices.
	Outboxes []NoticeQueue
	// Wake is called with the name of a channel for which a notice was queued.
	Wake   func(channel string)
	Logger *slog.Logger // default: nothing is logged
	// Timeout bounds one call of the store. Default 1 s.
	Timeout time.Duration
}

// Heartbeats watches the heartbeats of senders. Their state is in documents that all replicas share: each replica takes
// heartbeats, and whoever sees first that one is missing says so, once. A heartbeat that arrives while the store is away
// is remembered, and written as soon as it is back. Package problem decides; see there when a heartbeat is missing.
type Heartbeats struct {
	opts      HeartbeatOptions
	byName    map[string]*Heartbeat
	byChannel map[string][]*Heartbeat
	scopes    map[string]store.Channel
	memory    *HeartbeatMemory
	kicked    chan struct{} // something is to be written or posted now
}

// NewHeartbeats returns Heartbeats; Run runs them.
func NewHeartbeats(opts HeartbeatOptions) *Heartbeats {
	opts.Timeout = cmp.Or(opts.Timeout, time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	h := &Heartbeats{
		opts: opts, byName: map[string]*Heartbeat{}, byChannel: map[string][]*Heartbeat{}, scopes: map[string]store.Channel{},
		memory: opts.Memory, kicked: make(chan struct{}, 1),
	}
	for i := range opts.Heartbeats {
		heartbeat := &opts.Heartbeats[i]
		h.byName[heartbeat.Name] = heartbeat
		h.byChannel[heartbeat.Channel] = append(h.byChannel[heartbeat.Channel], heartbeat)
	}
	for i := range opts.Channels {
		if ch := &opts.Channels[i]; len(h.byChannel[ch.Name]) > 0 {
			h.scopes[ch.Name] = ch.Scope()
		}
	}
	h.memory.keep(h.byName)
	return h
}

// Channel returns the channel of a heartbeat, and whether there is such a heartbeat.
func (h *Heartbeats) Channel(name string) (channel string, known bool) {
	heartbeat, known := h.byName[name]
	if !known {
		return "", false
	}
	return heartbeat.Channel, true
}

// HeartbeatReceipt is the reply to a heartbeat.
type HeartbeatReceipt struct {
	Heartbeat  string    `json:"heartbeat"`
	Channel    string    `json:"channel"`
	ExpectedBy time.Time `json:"expected_by"` // the next one
	Durable    bool      `json:"durable"`     // false: it is lost when this process ends, because the store is away or in its memory
}

// Beat notes that a heartbeat arrives now. The error is [ErrUnknownHeartbeat].
func (h *Heartbeats) Beat(ctx context.Context, name string) (HeartbeatReceipt, error) {
	heartbeat, known := h.byName[name]
	if !known {
		return HeartbeatReceipt{}, fmt.Errorf("heartbeat %q: %w", name, ErrUnknownHeartbeat)
	}
	now := time.Now()
	receipt := HeartbeatReceipt{
		Heartbeat: name, Channel: heartbeat.Channel, ExpectedBy: now.Add(heartbeat.Every + heartbeat.Grace).UTC().Truncate(time.Second),
	}
	if h.memory.arrive(heartbeat, now) {
		if err := h.write(context.WithoutCancel(ctx), heartbeat); err != nil {
			h.opts.Logger.WarnContext(ctx, "heartbeat is written later", "heartbeat", name, "error", err)
		}
	}
	receipt.Durable = h.opts.Store.Durable() && h.memory.isDurable(heartbeat)
	return receipt, nil
}

// Match returns the heartbeat that an event of a channel is, "" if it is none, and notes that it arrived. The resolve of such an
// event is none: it says that the sender has stopped. It belongs to the heartbeat all the same.
func (h *Heartbeats) Match(channel string, e *events.Event, header http.Header, test bool) (name string) {
	if e.Source == HeartbeatSource {
		return ""
	}
	for _, heartbeat := range h.byChannel[channel] {
		if !heartbeat.Matches(e, header) {
			continue
		}
		if e.Status != events.Resolved && !test && h.memory.arrive(heartbeat, time.Now()) {
			h.kick()
		}
		return heartbeat.Name
	}
	return ""
}

// kick makes Run write what arrived, and post what is new, now.
func (h *Heartbeats) kick() {
	select {
	case h.kicked <- struct{}{}:
	default:
	}
}

// The times between two ticks of the watch, and between two looks at all documents.
const (
	watchEvery = 2 * time.Second
	auditEvery = 15 * time.Second
)

// Run watches until ctx ends. Without heartbeats it does nothing.
func (h *Heartbeats) Run(ctx context.Context) {
	if len(h.byName) == 0 {
		return
	}
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var audited time.Time
	for {
		if recovered := h.tick(ctx); h.memory.isReady() && (recovered || time.Since(audited) >= auditEvery) {
			h.audit(ctx)
			audited = time.Now()
		}
		h.flush(ctx)
		select {
		case <-ctx.Done():
			h.flush(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		case <-h.kicked:
			h.flush(ctx)
		}
	}
}

// flush writes the heartbeats that arrived and are not written, and posts what is new. Where one cannot be written, the others
// wait too.
func (h *Heartbeats) flush(ctx context.Context) {
	for _, heartbeat := range h.byName {
		if h.memory.isUnwritten(heartbeat) && h.write(ctx, heartbeat) != nil {
			break
		}
	}
	for name, heartbeat := range h.byName {
		if h.memory.takeNews(name) {
			h.announce(ctx, heartbeat)
		}
	}
}
