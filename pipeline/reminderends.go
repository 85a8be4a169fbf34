package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// endedAlert is the document of an alert whose resolve changed no message: it was dropped, muted, counted, or waits. Nobody is
// reminded of it.
type endedAlert struct {
	At int64 `json:"at"` // microseconds of the store's time
}

// endDocument is the name of the document, by the fingerprint of the store.
func endDocument(fingerprint string) string { return endedDocuments + "/" + fingerprint }

const endedDocuments = "ended"

// anyReminds reports whether people are reminded of messages of any channel.
func (in *Intake) anyReminds() bool {
	for _, ch := range in.channels {
		if ch.Remind.After > 0 {
			return true
		}
	}
	return slices.ContainsFunc(in.opts.Instances.examples(), func(ch Channel) bool { return ch.Remind.After > 0 })
}

// noteEnds notes the alerts whose resolves changed no message, for the reminders.
func (in *Intake) noteEnds(ctx context.Context, all []events.Event, receipt *Receipt) {
	for i := range receipt.Events {
		e := &all[i]
		if e.Status != events.Resolved || e.Fingerprint == "" || !isUnsaid(&receipt.Events[i], receipt.Durable) {
			continue
		}
		ch := in.channel(e.Channel)
		if ch == nil || ch.Remind.After == 0 || ch.Handling == nil {
			continue
		}
		if err := in.noteEnd(ctx, ch, e, 0); err != nil {
			in.opts.Missed.add(missedNow(e))
		}
	}
}

// isUnsaid reports whether no message says that an event's alert is resolved, as far as the store knows.
func isUnsaid(receipt *EventReceipt, durable bool) bool {
	if !durable {
		return true
	}
	switch receipt.Outcome {
	case store.Dropped.String():
		return receipt.Level != store.Suppressed.Reason()
	case store.Muted.String(), store.Delayed.String():
		return true
	case store.Merged.String():
		return receipt.By != ""
	default:
		return false
	}
}

// noteEnd notes that an alert was resolved this long ago.
func (in *Intake) noteEnd(ctx context.Context, ch *RequestBuilder, e *events.Event, age time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.opts.Timeout)
	defer cancel()
	for range problemTries {
		now, all, err := in.opts.Problems.Problems(ctx, ch.Scope(), []string{endDocument(problemKey(e))})
		if err != nil {
			return err
		}
		var ended endedAlert
		if all[0].Version != 0 {
			if err := json.Unmarshal(all[0].Data, &ended); err != nil {
				return fmt.Errorf("document %s: %w", all[0].Name, err)
			}
		}
		at := now - age.Microseconds()
		if ended.At >= at {
			return nil
		}
		data, err := json.Marshal(endedAlert{At: at})
		if err != nil {
			return fmt.Errorf("encode document %s: %w", all[0].Name, err)
		}
		change := store.ProblemChange{Name: all[0].Name, Version: all[0].Version, Data: data, Keep: ch.Handling.RememberFor()}
		saved, err := in.opts.Problems.SaveProblems(ctx, ch.Scope(), []store.ProblemChange{change}, store.ProblemCounts{})
		if saved || err != nil {
			return err
		}
	}
	return errChanging
}

// endedUnsaid returns which of the alerts that a message reports as firing were resolved since it was posted, or repeated.
func (r *Reminders) endedUnsaid(ctx context.Context, ch *Channel, record *store.PostedMessage) (map[string]bool, error) {
	var names []string
	for fingerprint := range record.Firing() {
		names = append(names, endDocument(fingerprint))
	}
	ended := map[string]bool{}
	for some := range slices.Chunk(names, ratelimit.MaxBatch) {
		_, all, err := r.load(ctx, ch, some...)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			var end endedAlert
			if one.Version != 0 && json.Unmarshal(one.Data, &end) == nil && end.At >= max(record.At, record.LastRepeat) {
				ended[one.Name[len(endedDocuments)+1:]] = true
			}
		}
	}
	return ended, nil
}
