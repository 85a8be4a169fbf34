package pipeline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// RequestBuilder builds the limiter's requests for the events of one channel.
type RequestBuilder struct {
	*Channel
	fairness *ratelimit.Fairness
	edits    bool // Sender can edit messages

	mu         sync.RWMutex
	byCategory map[string][]ratelimit.Level // unless further levels decide too; nil until the first event
}

// RequestBuilder returns a RequestBuilder for the channel, which must not be changed from then on.
func (c *Channel) RequestBuilder() *RequestBuilder {
	_, edits := c.Sender.(notifier.Editor)
	return &RequestBuilder{Channel: c, fairness: c.fairness(), edits: edits}
}

// Build returns a request for one slot at every level that limits the event. It has no ID, and queues nothing.
func (b *RequestBuilder) Build(e *events.Event) ratelimit.Request {
	return ratelimit.Request{Levels: b.levelsOf(e), Category: e.Category, Headroom: b.headroom(e.Severity), Fairness: b.fairness}
}

// admissions returns requests that queue what they admit.
func (b *RequestBuilder) admissions(all []events.Event) []store.Request {
	requests := make([]store.Request, len(all))
	sources := make([]admission, len(all))
	bundles := b.bundlesOf(all)
	for i := range all {
		e := &all[i]
		sources[i] = admission{b, e}
		requests[i] = store.Request{Request: b.Build(e), Policy: b.Handling, Event: b.event(e, bundles.of(e)), Source: &sources[i]}
	}
	return requests
}

// promotion returns the request for a delayed message, by the first of its events. A message that cannot be decoded takes its
// turn as an event of its category that says nothing: when it is sent, it becomes a dead letter with the reason.
func (b *RequestBuilder) promotion(waiting store.DelayedMessage) (store.Request, events.Event) {
	e := events.Event{ID: fmt.Sprint("delayed ", waiting.Number), Category: waiting.Category}
	if all, _, err := decodeEvents(waiting.Payload); err == nil {
		e = all[0]
	}
	request := store.Request{
		Request: b.Build(&e), Policy: b.Handling, Event: b.event(&e, ""), Delayed: waiting.Number,
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: waiting.Payload},
	}
	request.ID = dedupeID(&e)
	request.Event.Fingerprint, request.Event.ReplyTo = b.fingerprints(&e)
	return request, e
}

// admission makes what only an admission of an event needs.
type admission struct {
	builder *RequestBuilder
	event   *events.Event
}

// Admission implements [store.AdmissionSource].
func (a *admission) Admission() (store.Admission, error) {
	payload, err := json.Marshal(a.event)
	if err != nil {
		return store.Admission{}, fmt.Errorf("encode event %s: %w", a.event.ID, err)
	}
	made := store.Admission{ID: dedupeID(a.event), Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: payload}}
	made.Fingerprint, made.ReplyTo = a.builder.fingerprints(a.event)
	return made, nil
}

// maxLevels bounds the categories whose levels are kept.
const maxLevels = 1000

// levelsOf returns the levels that limit an event, the same slice for all events of a category where nothing else decides:
// the limiter recognizes it.
func (b *RequestBuilder) levelsOf(e *events.Event) []ratelimit.Level {
	if len(b.Tiers) > 2 { // the sender or a label decides too
		return b.levels(e)
	}
	b.mu.RLock()
	levels, ok := b.byCategory[e.Category]
	b.mu.RUnlock()
	if ok {
		return levels
	}
	levels = b.levels(e)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byCategory == nil {
		b.byCategory = map[string][]ratelimit.Level{}
	}
	if len(b.byCategory) < maxLevels {
		b.byCategory[e.Category] = levels
	}
	return levels
}

// event returns what the channel's handling needs to know of an event, without the fingerprints.
func (b *RequestBuilder) event(e *events.Event, bundle string) store.Event {
	if b.Handling == nil {
		return store.Event{}
	}
	name, _ := b.names(e)
	return store.Event{
		Status: b.status(e), Fingerprinted: name != "", Bundle: bundle, Severity: string(e.Severity), Title: titleFor(e),
	}
}

// status returns what an event does to the message of its fingerprint.
func (b *RequestBuilder) status(e *events.Event) store.Status {
	if b.edits && e.Slack != nil {
		if e.Slack.Update {
			return store.Update
		}
		if e.Slack.TS != "" {
			return ""
		}
	}
	return store.Status(e.Status) // the same words
}

// names returns the names of the message that tracks an event, and of the one that it answers; "" = none.
func (b *RequestBuilder) names(e *events.Event) (name, answers string) {
	name = e.Fingerprint
	if b.edits && e.Slack != nil {
		answers = scopedTS(e, e.Slack.Thread)
		if e.Slack.TS != "" {
			name = scopedTS(e, e.Slack.TS)
		}
	}
	return name, answers
}

// scopedTS returns the name of a message of a sender that speaks Slack. It contains the sender's credential, so that no
// other can edit or answer the message.
func scopedTS(e *events.Event, ts string) string {
	if ts == "" || e.Scope == "" {
		return strings.ReplaceAll(ts, "\x00", "") // so that it cannot look like the name of another sender
	}
	return e.Scope + "\x00" + ts
}

// fingerprints returns the hashes of an event's names.
func (b *RequestBuilder) fingerprints(e *events.Event) (fingerprint, answers string) {
	if b.Handling == nil {
		return "", ""
	}
	name, answered := b.names(e)
	return hashName(e.Source, name), hashName(e.Source, answered)
}

// hashName shortens a name of a source to a length that keeps Redis's hashes compact; "" stays "".
func hashName(source, name string) string {
	if name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(source + "\x00" + name))
	return hex.EncodeToString(sum[:16])
}

// dedupeID returns the id of an event within its channel and source, and within the credential where the channel has
// several, so that no sender can use up the ids of another. Its length keeps Redis's sets compact.
func dedupeID(e *events.Event) string {
	sum := sha256.Sum256([]byte(e.Channel + "\x00" + e.Source + "\x00" + e.ID))
	if e.Scope != "" {
		sum = sha256.Sum256(append(sum[:], e.Scope...))
	}
	return hex.EncodeToString(sum[:16])
}

// maxTitle bounds the part of a title that a digest counts by, in bytes.
const maxTitle = 100

// titleFor returns what a digest counts an event by: the beginning of the first line of its title, or of its text.
func titleFor(e *events.Event) string {
	title := cmp.Or(e.Title, e.Text)
	if line, _, more := strings.Cut(title, "\n"); more {
		title = line
	}
	if len(title) <= maxTitle {
		return title
	}
	return strings.ToValidUTF8(title[:maxTitle], "") + "…"
}
