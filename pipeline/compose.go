package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// job is what an entry asks for.
type job struct {
	message notifier.Message
	events  []events.Event    // what it tells of, as far as that is known
	counted []events.Severity // of a digest, which only counts them: what severities they have
	edit    *notifier.Receipt // the message that it replaces; nil = it is posted
	over    bool              // an edit that says that something is over: it must be told, by a post if need be
	nothing bool              // there is nothing to say any more
	later   time.Duration     // it is too early to say it
}

// severities are those of what it tells of.
func (j job) severities() []events.Severity {
	all := slices.Clone(j.counted)
	for _, e := range j.events {
		all = append(all, e.Severity)
	}
	return all
}

// editLater is how long an edit waits for its message to be posted.
const editLater = time.Second

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
		err = fmt.Errorf("an entry of the unknown kind %q", entry.Kind)
	}
	j.message.Entry = d.channel.Name + "/" + entry.PostedAs()
	return j, err
}

func undecodable(err error) *notifier.Error {
	return &notifier.Error{Action: notifier.GiveUp, Reason: notifier.Undecodable, Answer: err.Error()}
}

// decodeEvents reads the payload of a message: an event a line, and "+n" for those that it does not list.
func decodeEvents(payload []byte) (all []events.Event, more int64, err error) {
	all, more, _, err = decodeBundle(payload)
	return all, more, err
}

// decodeBundle says too how many of those that are not listed were over when they came: "+n m".
func decodeBundle(payload []byte) (all []events.Event, more, over int64, err error) {
	for line := range bytes.SplitSeq(payload, []byte("\n")) {
		if count, ok := bytes.CutPrefix(line, []byte("+")); ok {
			if _, err := fmt.Sscan(string(count)+" 0", &more, &over); err != nil {
				return nil, 0, 0, fmt.Errorf("decode a message: %w", err)
			}
			continue
		}
		var e events.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, 0, fmt.Errorf("decode an event: %w", err)
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, 0, 0, fmt.Errorf("decode a message: it contains no event")
	}
	return all, more, over, nil
}

func (d *delivery) composeMessage(ctx context.Context, entry store.Entry) (job, error) {
	all, more, over, err := decodeBundle(entry.Payload)
	if err != nil {
		return job{}, err
	}
	told := notifier.Told{More: more - over, Over: over}
	for _, e := range all {
		told.Events = append(told.Events, notifier.ToldEvent{Event: e})
	}
	since, err := d.sinceQueued(ctx, entry, len(all))
	if err != nil {
		return job{}, err
	}
	if since != nil {
		told = *since
	}
	j := job{events: all, message: d.channel.Renderer.Told(told)}
	if entry.Thread > 0 {
		record, err := d.record(ctx, entry.Thread)
		if err != nil {
			return job{}, err
		}
		if record != nil && record.At <= entry.AdmittedAt { // a younger one has the number again, of a Redis that went back
			j.message.Thread = record.TS
		}
	}
	return j, nil
}

// outboxError is a call of the outbox that failed: the entry is tried again.
type outboxError struct{ error }

func (d *delivery) record(ctx context.Context, number int64) (*store.PostedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	record, err := d.opts.Outbox.PostedMessage(ctx, d.channel.scope(), number)
	if err != nil {
		return nil, outboxError{err}
	}
	return record, nil
}

// posted finds the message that an edit is of.
func (d *delivery) posted(ctx context.Context, number int64) (*store.PostedMessage, job, error) {
	record, err := d.record(ctx, number)
	switch {
	case err != nil:
		return nil, job{}, err
	case record == nil, record.InSlack && record.TS == "":
		return nil, job{nothing: true}, nil
	case !record.InSlack:
		return nil, job{later: editLater}, nil
	default:
		return record, job{edit: &notifier.Receipt{Channel: record.Channel, TS: record.TS}}, nil
	}
}

func (d *delivery) composeEdit(ctx context.Context, entry store.Entry) (job, error) {
	number, err := strconv.ParseInt(string(entry.Payload), 10, 64)
	if err != nil {
		return job{}, fmt.Errorf("decode an edit: %w", err)
	}
	record, j, err := d.posted(ctx, number)
	if record == nil {
		return j, err
	}
	told, over, err := toldOf(record)
	if err != nil {
		return job{}, err
	}
	j.events, j.over = over, len(over) > 0
	j.message = d.channel.Renderer.Told(told)
	return j, nil
}

func (d *delivery) composeDigest(ctx context.Context, entry store.Entry) (job, error) {
	var digest store.Digest
	if err := json.Unmarshal(entry.Payload, &digest); err != nil {
		return job{}, fmt.Errorf("decode a digest: %w", err)
	}
	var j job
	if entry.Kind == store.KindDigestEdit {
		record, found, err := d.posted(ctx, digest.Post)
		if record == nil {
			return found, err
		}
		if len(record.Events) > 0 { // a message that has the number of the digest again, of a Redis that went back
			return job{nothing: true}, nil
		}
		j = found
		j.over = true // its counts are told nowhere else
	}
	said := digestOf(d.channel.Name, digest)
	for _, c := range said.Categories {
		j.counted = slices.AppendSeq(slices.AppendSeq(j.counted, maps.Keys(c.Dropped)), maps.Keys(c.Expired))
	}
	j.message = d.channel.Renderer.Digest(said)
	return j, nil
}

// digestOf reads the counts of a digest.
func digestOf(channel string, digest store.Digest) notifier.Digest {
	said := notifier.Digest{
		ID: digest.ID, Channel: channel, From: time.UnixMicro(digest.From), Last: time.UnixMicro(digest.Last), Closed: digest.Closed,
	}
	categories := map[string]*notifier.DigestCategory{}
	for _, name := range slices.Sorted(maps.Keys(digest.Counts)) {
		n := digest.Counts[name]
		if title, ok := strings.CutPrefix(name, "t:"); ok {
			said.Titles = append(said.Titles, notifier.DigestTitle{Title: title, Count: n})
			continue
		}
		parts := strings.SplitN(name, ":", 3)
		if len(parts) != 3 {
			continue
		}
		c := categories[parts[1]]
		if c == nil {
			c = &notifier.DigestCategory{
				Name: parts[1], Silent: slices.Contains(digest.Silent, parts[1]),
				Dropped: map[events.Severity]int64{}, Expired: map[events.Severity]int64{},
			}
			categories[parts[1]] = c
		}
		if parts[0] == "x" {
			c.Expired[events.Severity(parts[2])] += n
		} else {
			c.Dropped[events.Severity(parts[2])] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		said.Categories = append(said.Categories, *categories[name])
	}
	return said
}

// noted is what the next digest says of events that expired.
func noted(all []events.Event, more int64) map[string]int64 {
	counts := map[string]int64{}
	for i, e := range all {
		n := int64(1)
		if i == 0 {
			n += more
		}
		counts["x:"+e.Category+":"+string(e.Severity)] += n
		counts["t:"+titleFor(&e)] += n
	}
	return counts
}
