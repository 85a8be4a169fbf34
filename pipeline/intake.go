package pipeline

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ErrUnknownChannel is returned for a channel that is not configured.
var ErrUnknownChannel = errors.New("unknown channel")

// IntakeOptions configure an Intake.
type IntakeOptions struct {
	Limiter  store.Limiter
	Channels []Channel
	Metrics  *Metrics
	// Admitted is told the name of a channel as soon as something was queued for it.
	Admitted func(channel string)
	// Silences mute events for a while; nil = none does.
	Silences Silencer
	// Now is the clock of schedules. Default time.Now.
	Now func() time.Time
	// Outbox lists what waits for a slot; nil = nothing does.
	Outbox store.Outbox
	Logger *slog.Logger
	// Tracer makes a span of each call of the limiter for a webhook that is traced; nil = none are made.
	Tracer trace.Tracer
	// Timeout bounds one call of the limiter. Default 2 s.
	Timeout time.Duration
	// AskEvery is how often what waits for a slot is asked for again. Default 500 ms.
	AskEvery time.Duration
}

// Intake takes the events of webhooks in.
type Intake struct {
	opts     IntakeOptions
	full     *full
	channels map[string]*intakeChannel
}

// NewIntake makes an Intake.
func NewIntake(opts IntakeOptions) *Intake {
	if opts.Timeout == 0 {
		opts.Timeout = 2 * time.Second
	}
	if opts.AskEvery == 0 {
		opts.AskEvery = 500 * time.Millisecond
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	in := &Intake{opts: opts, full: newFull(opts.Logger), channels: map[string]*intakeChannel{}}
	for _, c := range opts.Channels {
		in.channels[c.Name] = newIntakeChannel(c)
		if opts.Metrics != nil && !c.Lane {
			opts.Metrics.forcedIn(c.Name, 0) // so that the first one is seen as a rise
		}
	}
	return in
}

// take asks the limiter for events, without classifying them.
func (in *Intake) take(ctx context.Context, channel string, all []events.Event) (Receipt, error) {
	return in.takeIn(ctx, channel, all, false)
}

// takeIn takes events in; forced, it does so whatever the limits say.
func (in *Intake) takeIn(ctx context.Context, channel string, all []events.Event, forced bool) (Receipt, error) {
	ch, ok := in.channels[channel]
	if !ok {
		return Receipt{}, fmt.Errorf("channel %q: %w", channel, ErrUnknownChannel)
	}
	requests := in.requests(ch, all)
	for i := range requests {
		requests[i].Forced = forced
	}
	decisions, err := in.admit(ctx, ch.Channel, requests)
	receipt := newReceipt(all[:len(decisions)], decisions)
	if forced {
		receipt.Forced = receipt.Admitted
		in.opts.Metrics.forcedIn(channel, receipt.Forced)
	}
	if receipt.Admitted > 0 || receipt.Merged > 0 {
		in.opts.Admitted(channel)
	}
	in.opts.Metrics.taken(all[:len(decisions)], decisions)
	if !forced { // which does not depend on how full a level is
		in.full.decided(ctx, all[:len(decisions)], decisions)
	}
	return receipt, err
}

// requests ask for one slot at every level for each event. What only an admission needs is made when it is
// needed: a storm is refused before.
func (in *Intake) requests(ch *intakeChannel, all []events.Event) []store.Request {
	requests := make([]store.Request, len(all))
	bundle := ""
	if ch.Bundle && len(all) > 1 {
		bundle = strconv.FormatInt(bundles.Add(1), 36)
		if len(all) > store.MaxBatch {
			bundle = "@" + rand.Text() + bundle // it goes on in further calls
		}
	}
	for i := range all {
		e := &all[i]
		requests[i] = ch.request(e)
		requests[i].Policy, requests[i].Event = ch.Handling, ch.about(e, bundle, anyName)
		requests[i].Complete = func(r *store.Request) error {
			payload, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("encode event %s: %w", e.ID, err)
			}
			r.ID, r.Enqueue = dedupeID(*e), &store.Enqueue{Kind: store.KindMessage, Payload: payload}
			r.Event = ch.about(e, bundle, fingerprint)
			return nil
		}
	}
	return requests
}

// bundles counts the webhooks whose events come together: calls of several webhooks are made as one.
var bundles atomic.Int64

// about is what a channel's handling needs to know of an event; named makes its fingerprints.
func (c Channel) about(e *events.Event, bundle string, named func(e *events.Event, name string) string) store.Event {
	if c.Handling == nil {
		return store.Event{}
	}
	about := store.Event{Bundle: bundle, Severity: string(e.Severity), Title: titleFor(e)}
	switch e.Status {
	case events.Firing:
		about.Status = store.Firing
	case events.Resolved:
		about.Status = store.Resolved
	case events.NoStatus:
	}
	about.Fingerprint = named(e, e.Fingerprint)
	if _, edits := c.Sender.(notifier.Editor); edits && e.Slack != nil {
		about.ReplyTo = named(e, ownTS(e, e.Slack.Thread))
		if e.Slack.TS != "" {
			about.Fingerprint, about.Status = named(e, ownTS(e, e.Slack.TS)), ""
		}
		if e.Slack.Update {
			about.Status = store.Update
		}
	}
	return about
}

// ownTS is the name of a message of a sender that speaks Slack, which only that sender knows a message by.
func ownTS(e *events.Event, ts string) string {
	if ts == "" || e.Scope == "" {
		return strings.ReplaceAll(ts, "\x00", "") // it is not to look like that of another
	}
	return e.Scope + "\x00" + ts
}

// anyName stands for a fingerprint while only that there is one matters.
func anyName(_ *events.Event, name string) string {
	if name == "" {
		return ""
	}
	return "any"
}

// fingerprint is a name that a source gives to what it tells of, of a length that keeps Redis's hashes compact.
func fingerprint(e *events.Event, name string) string {
	if name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(e.Source + "\x00" + name))
	return hex.EncodeToString(sum[:16])
}

// maxTitle is how much of a title a digest counts by.
const maxTitle = 100

// titleFor is how a digest tells events apart: the beginning of the title, or of the text.
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

// intakeChannel is a channel with what is the same for all its events.
type intakeChannel struct {
	Channel
	fair *ratelimit.Fairness

	mu     sync.RWMutex
	levels map[string][]ratelimit.Level // by category, where nothing else decides
}

func newIntakeChannel(c Channel) *intakeChannel {
	return &intakeChannel{Channel: c, fair: c.fairness(), levels: map[string][]ratelimit.Level{}}
}

// request is what the limits are asked for an event.
func (ch *intakeChannel) request(e *events.Event) store.Request {
	return store.Request{Levels: ch.levelsOf(e), Category: e.Category, Headroom: ch.headroom(*e), Fairness: ch.fair}
}

// maxLevels bounds the categories whose levels are kept.
const maxLevels = 1000

// levelsOf are the levels that limit an event.
func (ch *intakeChannel) levelsOf(e *events.Event) []ratelimit.Level {
	if len(ch.Tiers) > 2 { // the sender or a label decides too
		return ch.Channel.levels(*e)
	}
	ch.mu.RLock()
	levels, ok := ch.levels[e.Category]
	ch.mu.RUnlock()
	if ok {
		return levels
	}
	levels = ch.Channel.levels(*e)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if len(ch.levels) < maxLevels {
		ch.levels[e.Category] = levels
	}
	return levels
}

// dedupeID is an event's id within channel and source, and within the credential where the channel has several, so that no
// sender can use up the ids of another. It is of a length that keeps Redis's sets compact.
func dedupeID(e events.Event) string {
	sum := sha256.Sum256([]byte(e.Channel + "\x00" + e.Source + "\x00" + e.ID))
	if e.Scope != "" {
		sum = sha256.Sum256(append(sum[:], e.Scope...))
	}
	return hex.EncodeToString(sum[:16])
}

// admit asks the limiter, in as few calls as its bound allows. After a failed call the rest is not asked
// for, so that the order of the webhook is kept.
func (in *Intake) admit(ctx context.Context, ch Channel, requests []store.Request) ([]store.Decision, error) {
	decisions := make([]store.Decision, 0, len(requests))
	for len(requests) > 0 {
		n := min(len(requests), store.MaxBatch)
		some, err := in.admitOnce(ctx, ch, requests[:n])
		if err != nil {
			return decisions, err
		}
		clear(requests[:n]) // what they were written out to is no longer needed
		decisions, requests = append(decisions, some...), requests[n:]
	}
	return decisions, nil
}

// admitOnce makes one call of the limiter. It ends on its own although the sender may hang up: a call that is
// cut leaves open whether it was committed.
func (in *Intake) admitOnce(ctx context.Context, ch Channel, requests []store.Request) ([]store.Decision, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.opts.Timeout)
	defer cancel()
	ctx, span := beginSpan(ctx, in.opts.Tracer, "admit")
	defer span.End()
	decisions, err := in.opts.Limiter.Admit(ctx, ch.scope(), requests)
	sayDecisions(span, ch.Name, decisions, err)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", ch.Name, err)
	}
	return decisions, nil
}
