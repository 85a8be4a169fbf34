package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// Archive is what became of what did not get through: the dead letters, and the record of drops.
type Archive struct {
	Limiter  store.Limiter
	Outbox   store.Outbox
	Intake   *Intake
	Channels []Channel
}

// DeadLetter is a message that Slack refused for good.
type DeadLetter struct {
	ID       string         `json:"id"`
	At       time.Time      `json:"at"`
	Reason   string         `json:"reason"`
	Answer   string         `json:"answer"` // the last thing Slack said
	Attempts int64          `json:"attempts"`
	Kind     string         `json:"kind"`             // "message", or what else it was
	Events   []events.Event `json:"events,omitempty"` // what it told of
	More     int64          `json:"more,omitempty"`   // events that it only counted
}

// DropRecord is an event that was dropped.
type DropRecord struct {
	ID         string        `json:"id"`
	At         time.Time     `json:"at"`
	Category   string        `json:"category"`
	Level      string        `json:"level"`           // that refused it, or never, full, suppressed
	Used       int64         `json:"used"`            // of that level then; -1 where a reason refused
	Limit      int64         `json:"limit"`           //
	RetryAfter float64       `json:"retry_after"`     // seconds until it would have fit; 0 where that is not known
	Event      *events.Event `json:"event,omitempty"` // nil where it was not kept
}

// MaxPage is the most records in one page.
const MaxPage = 1000

// ErrNotKept is returned for an id of which nothing is kept.
var ErrNotKept = errors.New("nothing is kept under that id")

func (a *Archive) channel(name string) (Channel, error) { return channelOf(a.Channels, name) }

// channelOf finds a channel by its name.
func channelOf(channels []Channel, name string) (Channel, error) {
	i := slices.IndexFunc(channels, func(ch Channel) bool { return ch.Name == name })
	if i < 0 {
		return Channel{}, fmt.Errorf("channel %q: %w", name, ErrUnknownChannel)
	}
	return channels[i], nil
}

// Dead lists dead letters, newest first: those older than before ("" = all), so many at most. Those of the channel's
// fallback are not among them.
func (a *Archive) Dead(ctx context.Context, channel, before string, most int) ([]DeadLetter, error) {
	ch, err := a.channel(channel)
	if err != nil {
		return nil, err
	}
	letters, err := a.Outbox.DeadLetters(ctx, ch.scope(), before, min(max(most, 1), MaxPage))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	all := make([]DeadLetter, len(letters))
	for i, letter := range letters {
		all[i] = DeadLetter{ID: letter.ID, At: letter.At.UTC(), Reason: letter.Reason, Answer: letter.Answer, Attempts: letter.Attempts, Kind: letter.Kind}
		if letter.Kind != string(store.KindMessage) {
			continue
		}
		if all[i].Events, all[i].More, err = decodeEvents(letter.Payload); err != nil {
			all[i].Events = nil // it is in the dead letters for that
		}
	}
	return all, nil
}

// find pages through a list until an id turns up.
func find[T any](ctx context.Context, list func(ctx context.Context, before string) ([]T, error), id func(T) string, matches func(T) bool) (T, error) {
	var none T
	for before := ""; ; {
		page, err := list(ctx, before)
		if err != nil || len(page) == 0 {
			return none, errors.Join(err, ErrNotKept)
		}
		for _, one := range page {
			if matches(one) {
				return one, nil
			}
		}
		before = id(page[len(page)-1])
	}
}

// DeleteDead deletes dead letters; it stays counted that they failed.
func (a *Archive) DeleteDead(ctx context.Context, channel string, ids ...string) (int, error) {
	ch, err := a.channel(channel)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	n, err := a.Outbox.DeleteDead(ctx, ch.scope(), ids...)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return n, nil
}

// ReplayDead sends the events of a dead letter again, each with a new id: they count as received, and the limits are
// asked, unless it is forced. Where all were taken in, the letter is deleted; else it stays.
func (a *Archive) ReplayDead(ctx context.Context, channel, id string, force bool) (Receipt, error) {
	list := func(ctx context.Context, before string) ([]DeadLetter, error) {
		return a.Dead(ctx, channel, before, MaxPage)
	}
	letter, err := find(ctx, list, func(d DeadLetter) string { return d.ID }, func(d DeadLetter) bool { return d.ID == id })
	if err != nil {
		return Receipt{}, err
	}
	if len(letter.Events) == 0 {
		return Receipt{}, fmt.Errorf("dead letter %s holds no event: %w", id, ErrNotKept)
	}
	receipt, err := a.replay(ctx, channel, "dead-"+id, letter.Events, force)
	if err == nil && receipt.Dropped == 0 {
		_, err = a.DeleteDead(ctx, channel, id)
	}
	return receipt, err
}

// Drops lists what was dropped, newest first: what is older than before ("" = all), so many at most.
func (a *Archive) Drops(ctx context.Context, channel, before string, most int) ([]DropRecord, error) {
	ch, err := a.channel(channel)
	if err != nil {
		return nil, err
	}
	drops, err := a.Limiter.Drops(ctx, ch.scope(), before, min(max(most, 1), MaxPage))
	if err != nil {
		return nil, err
	}
	all := make([]DropRecord, len(drops))
	for i, d := range drops {
		all[i] = DropRecord{
			ID: d.ID, At: d.At.UTC(), Category: d.Category, Level: d.Level, Used: d.Used, Limit: d.Limit, RetryAfter: secondsOf(d.RetryAfter),
		}
		if decoded, _, err := decodeEvents(d.Payload); err == nil {
			all[i].Event = &decoded[0]
		}
	}
	return all, nil
}

// Drop finds a drop by its own id or by that of its event.
func (a *Archive) Drop(ctx context.Context, channel, id string) (DropRecord, error) {
	list := func(ctx context.Context, before string) ([]DropRecord, error) {
		return a.Drops(ctx, channel, before, MaxPage)
	}
	return find(ctx, list, func(d DropRecord) string { return d.ID }, func(d DropRecord) bool {
		return d.ID == id || d.Event != nil && d.Event.ID == id
	})
}

// ReplayDrop sends a dropped event again, with a new id: it counts as received, and the limits are asked, unless it is forced.
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

// replay takes events in again. The new ids are made of the old record, so that a repeat is a duplicate.
func (a *Archive) replay(ctx context.Context, channel, record string, all []events.Event, force bool) (Receipt, error) {
	for i := range all {
		all[i].ReplayOf, all[i].Forced = all[i].ID, force
		all[i].ID = fmt.Sprintf("replay-%s-%d", record, i)
	}
	return a.Intake.takeIn(ctx, channel, all, force)
}
