package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// job is what an entry asks for.
type job struct {
	message notifier.Message
	events  []events.Event    // that the message reports, as far as they are known
	counted []events.Severity // the severities of the events that a digest counts
	edit    *notifier.Receipt // the message that it replaces; nil = it is posted
	over    bool              // it is an edit that must be shown, by a post where Slack refuses it
}

// Why there is no job of an entry that can be composed.
var (
	errNothingToPost = errors.New("there is nothing left to post")
	errNotPosted     = errors.New("not posted yet")
)

// severities returns the severities of all events that the message reports or counts.
func (j *job) severities() []events.Severity {
	all := slices.Clone(j.counted)
	for i := range j.events {
		all = append(all, j.events[i].Severity)
	}
	return all
}

// editDelay is how long an edit waits for its message to be posted.
const editDelay = time.Second

// compose makes a job of an entry.
func (d *delivery) compose(ctx context.Context, entry store.Entry) (job, error) {
	var j job
	var err error
	switch entry.Kind {
	case string(store.KindMessage), store.KindCopy:
		j, err = d.composeMessage(ctx, entry)
	case store.KindEdit:
		j, err = d.composeEdit(ctx, entry)
	case store.KindDigest, store.KindDigestEdit:
		j, err = d.composeDigest(ctx, entry)
	case store.KindNotice:
		var notice notifier.Notice
		if err = json.Unmarshal(entry.Payload, &notice); err == nil {
			j.message = d.channel.Renderer.Notice(notice)
		}
	default:
		err = fmt.Errorf("entry has the unknown kind %q", entry.Kind)
	}
	j.message.Entry = d.channel.Name + "/" + entry.PostedAs()
	return j, err
}

func undecodable(err error) *notifier.Error {
	return &notifier.Error{Action: notifier.GiveUp, Reason: notifier.Undecodable, Answer: err.Error()}
}

func (d *delivery) composeMessage(ctx context.Context, entry store.Entry) (job, error) {
	batch, err := decodeBatch(entry.Payload)
	if err != nil {
		return job{}, err
	}
	content, err := d.currentContent(ctx, entry, batch)
	if err != nil {
		return job{}, err
	}
	thread := ""
	if entry.Thread > 0 {
		posted, err := d.record(ctx, entry.Thread)
		if err != nil {
			return job{}, err
		}
		if posted != nil && posted.At <= entry.AdmittedAt { // a younger one reuses the number, in a Redis that lost data
			thread = posted.TS
			addDurations(content.Events, posted, time.UnixMicro(entry.AdmittedAt))
		}
	}
	j := job{events: batch.events, message: d.channel.Renderer.Notification(content)}
	j.message.Thread = thread
	return j, nil
}

// outboxError is a call of the outbox that failed: the entry is tried again.
type outboxError struct{ error }

// record returns what is remembered of a message by its number; nil = nothing.
func (d *delivery) record(ctx context.Context, number int64) (*store.PostedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	record, err := d.opts.Outbox.PostedMessage(ctx, d.key, number)
	if err != nil {
		return nil, outboxError{err}
	}
	return record, nil
}

// edited returns what is remembered of the message that an edit changes, and where it is.
func (d *delivery) edited(ctx context.Context, number int64) (*store.PostedMessage, *notifier.Receipt, error) {
	record, err := d.record(ctx, number)
	switch {
	case err != nil:
		return nil, nil, err
	case record == nil, record.InSlack && record.TS == "":
		return nil, nil, errNothingToPost
	case !record.InSlack:
		return nil, nil, errNotPosted
	default:
		return record, &notifier.Receipt{Channel: record.Channel, TS: record.TS}, nil
	}
}

func (d *delivery) composeEdit(ctx context.Context, entry store.Entry) (job, error) {
	number, err := strconv.ParseInt(string(entry.Payload), 10, 64)
	if err != nil {
		return job{}, fmt.Errorf("decode an edit: %w", err)
	}
	record, at, err := d.edited(ctx, number)
	if err != nil {
		return job{}, err
	}
	content, ended, err := contentOf(record)
	if err != nil {
		return job{}, err
	}
	content.Reference = d.reference(number)
	return job{edit: at, events: ended, over: len(ended) > 0, message: d.channel.Renderer.Notification(content)}, nil
}

func (d *delivery) composeDigest(ctx context.Context, entry store.Entry) (job, error) {
	var digest store.Digest
	if err := json.Unmarshal(entry.Payload, &digest); err != nil {
		return job{}, fmt.Errorf("decode a digest: %w", err)
	}
	var j job
	if entry.Kind == store.KindDigestEdit {
		record, at, err := d.edited(ctx, digest.Post)
		if err != nil {
			return job{}, err
		}
		if len(record.Events) > 0 { // a message reuses the number of the digest, in a Redis that lost data
			return job{}, errNothingToPost
		}
		j = job{edit: at, over: true} // its counts are shown nowhere else
	}
	content := digestOf(d.channel, digest)
	content.Reference = d.reference(digest.Post)
	d.addSteps(ctx, &content)
	for _, c := range content.Categories {
		j.counted = slices.AppendSeq(j.counted, maps.Keys(c.Dropped))
		j.counted = slices.AppendSeq(j.counted, maps.Keys(c.Expired))
	}
	j.message = d.channel.Renderer.Digest(content)
	return j, nil
}
