package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// batch is the payload of a message: the events of a webhook that are posted together, or a single event.
type batch struct {
	events []events.Event // at least one
	more   int64          // further events, which it does not list
	ended  int64          // of these: resolved when they arrived
}

// decodeBatch decodes the payload of a message: an event a line, and "+more ended" for further events.
func decodeBatch(payload []byte) (batch, error) {
	var b batch
	for line := range bytes.SplitSeq(payload, []byte("\n")) {
		if count, ok := bytes.CutPrefix(line, []byte("+")); ok {
			if _, err := fmt.Sscan(string(count)+" 0", &b.more, &b.ended); err != nil {
				return batch{}, fmt.Errorf("decode a message: %w", err)
			}
			continue
		}
		var e events.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return batch{}, fmt.Errorf("decode an event: %w", err)
		}
		b.events = append(b.events, e)
	}
	if len(b.events) == 0 {
		return batch{}, fmt.Errorf("decode a message: it contains no event")
	}
	return b, nil
}

// decodeEvents returns the events of a message, and how many more it does not list.
func decodeEvents(payload []byte) (all []events.Event, more int64, err error) {
	b, err := decodeBatch(payload)
	return b.events, b.more, err
}

// currentContent returns the content of a message that is about to be posted. Some events of a batch may have ended while
// it was queued.
func (d *delivery) currentContent(ctx context.Context, entry store.Entry, b batch) (notifier.Notification, error) {
	content := notifier.Notification{More: b.more - b.ended, Resolved: b.ended}
	if entry.Kind == string(store.KindMessage) && d.channel.Handling != nil {
		content.Reference = d.reference(entry.Number)
	}
	for _, e := range b.events {
		content.Events = append(content.Events, notifier.NotificationEvent{Event: e})
	}
	if len(b.events) < 2 || entry.Kind != string(store.KindMessage) {
		return content, nil
	}
	record, err := d.record(ctx, entry.Number)
	if err != nil || record == nil {
		return content, err
	}
	current, ended, err := contentOf(record)
	if err != nil || len(ended) == 0 {
		return content, err
	}
	current.Reference = content.Reference
	return current, nil
}

// reference is what the buttons of a posted message are for.
func (d *delivery) reference(number int64) notifier.Reference {
	return notifier.Reference{Channel: d.channel.Name, Number: number}
}

// markOf returns a mark as it is shown; nil = there is none.
func markOf(mark *store.Mark) *notifier.Mark {
	if mark == nil {
		return nil
	}
	shown := &notifier.Mark{Name: cmp.Or(mark.Name, mark.User), At: time.UnixMicro(mark.At)}
	if mark.Until > 0 {
		shown.Until = time.UnixMicro(mark.Until)
	}
	return shown
}

// addDurations sets when the resolves began and ended whose senders do not tell it: with their firings, which an earlier message
// reported, and when they were admitted.
func addDurations(resolves []notifier.NotificationEvent, posted *store.PostedMessage, ended time.Time) {
	for i := range resolves {
		resolve := &resolves[i]
		if resolve.Status != events.Resolved || !resolve.EndedAt.IsZero() {
			continue
		}
		for _, listed := range posted.Events {
			firing, _, err := decodeEvents([]byte(listed.Payload))
			if err == nil && firing[0].Fingerprint == resolve.Fingerprint {
				resolve.StartedAt, resolve.EndedAt = firing[0].StartedAt, ended
				if resolve.StartedAt.IsZero() {
					resolve.StartedAt = time.UnixMicro(posted.At)
				}
				break
			}
		}
	}
}

// contentOf returns the content of a remembered message, and those of its events that ended.
func contentOf(record *store.PostedMessage) (content notifier.Notification, ended []events.Event, err error) {
	content = notifier.Notification{
		More: record.Untracked, Resolved: record.UntrackedResolved,
		Repeats: record.Repeats, LastRepeatAt: time.UnixMicro(record.LastRepeat),
		Acknowledged: markOf(record.Acknowledged), Muted: markOf(record.Muted),
		Dropped: record.Merged, LastDropAt: time.UnixMicro(record.MergedAt), DroppedTitle: record.MergedTitle,
	}
	if !strings.HasPrefix(record.Bundle, store.GroupPrefix) { // the resolves of a group are counted
		content.Unfollowed = record.Untracked
	}
	for _, listed := range record.Events {
		line, _, err := decodeEvents([]byte(listed.Payload))
		if err != nil {
			return content, nil, err
		}
		event := notifier.NotificationEvent{Event: line[0]}
		if listed.Resolved > 0 {
			event.ResolvedAt = time.UnixMicro(listed.Resolved)
			ended = append(ended, event.Event)
		}
		content.Events = append(content.Events, event)
	}
	for _, at := range record.Members { // events that are not listed, by the second in which they ended; 0 = they have not
		if at == 0 {
			content.More++
			continue
		}
		content.Resolved++
		if end := time.Unix(at, 0); end.After(content.LastResolvedAt) {
			content.LastResolvedAt = end
		}
	}
	if len(ended) == 0 && !content.LastResolvedAt.IsZero() {
		ended = append(ended, content.Events[0].Event) // for its severity and its trace
	}
	return content, ended, nil
}
