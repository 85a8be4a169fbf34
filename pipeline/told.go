package pipeline

import (
	"context"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// toldOf is what a message says by now, the events that it lists, and whether any that it tells of was followed to its end.
func toldOf(record *store.PostedMessage) (told notifier.Told, over []events.Event, err error) {
	told = notifier.Told{More: record.Untracked, Unfollowed: record.Untracked, Over: record.UntrackedResolved, Repeats: record.Repeats, Held: record.Merged, HeldTitle: record.MergedTitle}
	told.Last, told.HeldAt = time.UnixMicro(record.LastRepeat), time.UnixMicro(record.MergedAt)
	for _, kept := range record.Events {
		line, _, err := decodeEvents([]byte(kept.Payload))
		if err != nil {
			return told, nil, err
		}
		event := notifier.ToldEvent{Event: line[0]}
		if kept.Resolved > 0 {
			event.ResolvedAt = time.UnixMicro(kept.Resolved)
			over = append(over, event.Event)
		}
		told.Events = append(told.Events, event)
	}
	for _, at := range record.Members {
		if at == 0 {
			told.More++
			continue
		}
		told.Over++
		if ended := time.Unix(at, 0); ended.After(told.OverAt) {
			told.OverAt = ended
		}
	}
	if len(over) == 0 && !told.OverAt.IsZero() {
		over = append(over, told.Events[0].Event) // what the message tells of, as far as it is named
	}
	return told, over, nil
}

// sinceQueued is what a bundle says that waited: some of it may be over by now. nil = it says what it said when it came.
func (d *delivery) sinceQueued(ctx context.Context, entry store.Entry, events int) (*notifier.Told, error) {
	if events < 2 || entry.Kind != string(store.KindMessage) {
		return nil, nil //nolint:nilnil // documented
	}
	record, err := d.record(ctx, entry.Number)
	if err != nil || record == nil {
		return nil, err
	}
	told, over, err := toldOf(record)
	if err != nil || len(over) == 0 {
		return nil, err
	}
	return &told, nil
}
