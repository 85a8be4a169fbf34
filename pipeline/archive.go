package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// DropLister is the part of a limiter that an [Archive] calls.
type DropLister interface {
	// Drops lists dropped events, newest first: up to most that are older than an id ("" = all).
	Drops(ctx context.Context, scope store.Channel, before string, most int) ([]store.Drop, error)
}

// Archive lists and replays what did not reach Slack: the dead letters, and the log of dropped events. It also lists the
// events that are held. All fields but Instances are needed:
//
//	archive := &pipeline.Archive{Limiter: limiter, Outbox: queue, Problems: limiter, Intake: intake, Channels: channels}
type Archive struct {
	Limiter  DropLister
	Outbox   store.DeadLetters
	Problems ProblemLister
	Intake   *Intake
	Channels []Channel
	// Instances are the channels that templates made; nil = there are no templates.
	Instances *Instances
	// Destinations know the addresses of workspaces; nil = there are no links to messages.
	Destinations *Destinations
}

// DeadLetter is a message that Slack rejected permanently, or whose delivery state stayed unknown.
type DeadLetter struct {
	ID       string         `json:"id"`
	At       time.Time      `json:"at"`
	Reason   string         `json:"reason"`
	Answer   string         `json:"answer"` // Slack's last answer
	Attempts int64          `json:"attempts"`
	Kind     string         `json:"kind"`             // "message", or the kind of an extra
	Events   []events.Event `json:"events,omitempty"` // of the message
	More     int64          `json:"more,omitempty"`   // further events of the message, which it only counted
}

// DropRecord is a dropped event.
type DropRecord struct {
	ID         string        `json:"id"`
	At         time.Time     `json:"at"`
	Category   string        `json:"category"`
	Level      string        `json:"level"`               // that dropped it, or the reason ([store.Outcome.Reason])
	Used       int64         `json:"used"`                // slots of that level at the time; -1 where it has a reason
	Limit      int64         `json:"limit"`               // of that level; -1 where it has a reason
	RetryAfter float64       `json:"retry_after"`         // seconds until it would have fit; 0 = unknown
	Permanent  bool          `json:"permanent,omitempty"` // the limits would drop it again at any time
	Event      *events.Event `json:"event,omitempty"`     // nil = it was not kept
}

// Explanation returns why the event was dropped, as one sentence.
func (d *DropRecord) Explanation() string {
	if outcome := store.OutcomeOfDrop(d.Level); outcome.Reason() != "" {
		return outcome.Meaning()
	}
	text := fmt.Sprintf("the limit of the %s was reached: %d of %d used", d.Level, d.Used, d.Limit)
	if d.RetryAfter > 0 {
		wait := time.Duration(d.RetryAfter * float64(time.Second)).Round(time.Second).String()
		for _, zero := range []string{"m0s", "h0m"} { // 30m, where Go writes 30m0s
			if strings.HasSuffix(wait, zero) {
				wait = wait[:len(wait)-2]
			}
		}
		text += "; it would have fit " + wait + " later"
	}
	return text
}

// MaxPage is the maximum number of records in one page.
const MaxPage = 1000

// ErrNotKept is returned for an id that is not found: it never existed, or its record was removed.
var ErrNotKept = errors.New("nothing is kept under that id")

// channelOf finds a channel by its name, among the configured ones and those that templates made.
func channelOf(channels []Channel, instances *Instances, name string) (Channel, error) {
	if i := slices.IndexFunc(channels, func(ch Channel) bool { return ch.Name == name }); i >= 0 {
		return channels[i], nil
	}
	if ch := instances.find(name); ch != nil {
		return *ch, nil
	}
	return Channel{}, fmt.Errorf("channel %q: %w", name, ErrUnknownChannel)
}

// Channel returns a channel by its name, among the configured ones and those that templates made.
func (a *Archive) Channel(name string) (Channel, error) {
	return channelOf(a.Channels, a.Instances, name)
}

// All returns all channels but test lanes: the configured ones, and those that templates made.
func (a *Archive) All() []Channel {
	all := slices.DeleteFunc(slices.Clone(a.Channels), func(ch Channel) bool { return isLane(ch.Name) })
	return append(all, a.Instances.All()...)
}

// Dead lists dead letters of a channel, newest first: up to most that are older than the id before ("" = all). Those of the
// channel's fallback are not among them.
func (a *Archive) Dead(ctx context.Context, channel, before string, most int) ([]DeadLetter, error) {
	ch, err := channelOf(a.Channels, a.Instances, channel)
	if err != nil {
		return nil, err
	}
	letters, err := a.Outbox.DeadLetters(ctx, ch.Scope(), before, min(max(most, 1), MaxPage))
	if err != nil {
		return nil, err
	}
	all := make([]DeadLetter, len(letters))
	for i, letter := range letters {
		all[i] = DeadLetter{
			ID: letter.ID, At: letter.At.UTC(), Reason: letter.Reason, Answer: letter.Answer, Attempts: letter.Attempts, Kind: letter.Kind,
		}
		if letter.Kind != string(store.KindMessage) {
			continue
		}
		if all[i].Events, all[i].More, err = decodeEvents(letter.Payload); err != nil {
			all[i].Events = nil // it is a dead letter because it cannot be decoded
		}
	}
	return all, nil
}

// record is an entry of a list that is found by its id.
type record interface {
	cursor() string // the next page of the list begins after it
	is(id string) bool
}

func (d DeadLetter) cursor() string    { return d.ID }
func (d DeadLetter) is(id string) bool { return d.ID == id }
func (d DropRecord) cursor() string    { return d.ID }
func (d DropRecord) is(id string) bool { return d.ID == id || d.Event != nil && d.Event.ID == id }

// find returns the record with an id, or [ErrNotKept]. list is [Archive.Dead] or [Archive.Drops].
func find[T record](
	ctx context.Context, list func(ctx context.Context, channel, before string, most int) ([]T, error), channel, id string,
) (T, error) {
	var none T
	for before := ""; ; {
		page, err := list(ctx, channel, before, MaxPage)
		if err != nil {
			return none, err
		}
		if i := slices.IndexFunc(page, func(r T) bool { return r.is(id) }); i >= 0 {
			return page[i], nil
		}
		if len(page) == 0 {
			return none, ErrNotKept
		}
		before = page[len(page)-1].cursor()
	}
}

// DeleteDead deletes dead letters, and returns how many there were. They stay counted as failed.
func (a *Archive) DeleteDead(ctx context.Context, channel string, ids ...string) (int, error) {
	ch, err := channelOf(a.Channels, a.Instances, channel)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return a.Outbox.DeleteDead(ctx, ch.Scope(), ids...)
}

// ReplayDead admits the events of a dead letter again, each with a new id: they count as received, and the limits apply
// unless force is set. The letter is deleted unless some events were dropped.
func (a *Archive) ReplayDead(ctx context.Context, channel, id string, force bool) (Receipt, error) {
	letter, err := find(ctx, a.Dead, channel, id)
	if err != nil {
		return Receipt{}, err
	}
	if len(letter.Events) == 0 {
		return Receipt{}, fmt.Errorf("dead letter %s contains no event: %w", id, ErrNotKept)
	}
	receipt, err := a.replay(ctx, channel, "dead-"+id, letter.Events, force)
	if err == nil && receipt.Dropped == 0 {
		_, err = a.DeleteDead(ctx, channel, id)
	}
	return receipt, err
}

// Drops lists dropped events of a channel, newest first: up to most that are older than the id before ("" = all).
func (a *Archive) Drops(ctx context.Context, channel, before string, most int) ([]DropRecord, error) {
	ch, err := channelOf(a.Channels, a.Instances, channel)
	if err != nil {
		return nil, err
	}
	drops, err := a.Limiter.Drops(ctx, ch.Scope(), before, min(max(most, 1), MaxPage))
	if err != nil {
		return nil, err
	}
	all := make([]DropRecord, len(drops))
	for i, d := range drops {
		all[i] = DropRecord{
			ID: d.ID, At: d.At.UTC(), Category: d.Category, Level: d.Level, Used: d.Used, Limit: d.Limit, RetryAfter: secondsOf(d.RetryAfter),
			Permanent: store.OutcomeOfDrop(d.Level).IsPermanent(),
		}
		if decoded, _, err := decodeEvents(d.Payload); err == nil {
			all[i].Event = &decoded[0]
		}
	}
	return all, nil
}

// Drop returns a dropped event, by the id of its record or by its own.
func (a *Archive) Drop(ctx context.Context, channel, id string) (DropRecord, error) {
	return find(ctx, a.Drops, channel, id)
}

// ReplayDrop admits a dropped event again, with a new id: it counts as received, and the limits apply unless force is set.
func (a *Archive) ReplayDrop(ctx context.Context, channel, id string, force bool) (Receipt, error) {
	drop, err := a.Drop(ctx, channel, id)
	if err != nil {
		return Receipt{}, err
	}
	if drop.Event == nil {
		return Receipt{}, fmt.Errorf("drop %s was kept without its event: %w", id, ErrNotKept)
	}
	return a.replay(ctx, channel, "drop-"+drop.ID, []events.Event{*drop.Event}, force)
}

// replay admits events again. The new ids are derived from the old record, so that a repeat is a duplicate.
func (a *Archive) replay(ctx context.Context, channel, record string, all []events.Event, force bool) (Receipt, error) {
	for i := range all {
		all[i].ReplayOf = all[i].ID
		all[i].Forced = force
		all[i].ID = fmt.Sprintf("replay-%s-%d", record, i)
	}
	return a.Intake.admit(ctx, channel, all, force)
}
