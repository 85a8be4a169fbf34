package problem

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Observe decides about an event at now. The document must have no event that is to be admitted: see [Document.Out].
func (s Settings) Observe(d Document, e Event, now int64) (Document, Verdict) {
	if verdict, known := d.repeated(e); known {
		return d, verdict
	}
	if s.isPlainRepeat(d, e, now) {
		return d, Verdict{Action: Pass}
	}
	d.Last, d.At = e.ID, now
	switch {
	case d.Quiet != nil:
		return s.keepQuiet(d, e, now)
	case e.Resolved:
		return s.resolve(d, e, now)
	case d.Held != nil:
		d.Held = &Waiting{ID: d.Held.ID, Since: d.Held.Since, Until: d.Held.Until, Data: e.Data}
		return d, Verdict{Action: Merge, By: ByHold, Why: "an event of the same alert waits already; it has this text now"}
	case d.Muted != nil:
		by := ByInhibition + d.Muted.By
		d.Muted = &Inhibited{ID: e.ID, By: d.Muted.By, Since: d.Muted.Since, Next: d.Muted.Next, Data: e.Data}
		return d, Verdict{Action: Mute, By: by, Why: "the alert is inhibited"}
	case e.Inhibition != "":
		return inhibit(d, e, now)
	case e.Hold > 0 && !d.Said:
		d.Firing, d.Silent = true, ""
		d.Held = &Waiting{ID: e.ID, Since: now, Until: now + e.Hold.Microseconds(), Data: e.Data}
		return d, Verdict{
			Action: Hold, By: ByHold, Why: fmt.Sprintf("it is posted in %s, unless it resolves before", short(e.Hold)),
		}
	default:
		d, verdict := s.fire(d, now)
		d = d.withNewest(e.ID, e.Data)
		if verdict.Note != "" && d.Quiet != nil {
			d.Quiet.Began, d.Quiet.Note = e.ID, verdict.Note
		}
		return d, verdict
	}
}

// isPlainRepeat reports whether an event changes nothing: the firing of the alert was passed on, and the document need not be
// written again to be kept.
func (s Settings) isPlainRepeat(d Document, e Event, now int64) bool {
	const share = 4 // of the time for which a document is kept
	return !e.Resolved && e.Inhibition == "" && d.Firing && d.Said && d.Quiet == nil && d.Out == nil &&
		now >= d.Noted && now-d.Noted < d.Keep(s).Microseconds()/share
}

// repeated decides about an event that was decided about before: the newest one, or a firing that was not passed on.
func (d *Document) repeated(e Event) (verdict Verdict, known bool) {
	switch {
	case d.Silent != "" && e.ID == d.Unsaid:
		return Verdict{Action: Duplicate}, true
	case e.ID != d.Last:
		return Verdict{}, false
	case d.Quiet != nil && d.Quiet.Began == e.ID: // it passed, but perhaps nobody decided about it then
		return Verdict{Action: Pass, Note: d.Quiet.Note}, true
	case d.Held != nil || d.Muted != nil || d.Quiet != nil || d.Silent != "":
		return Verdict{Action: Duplicate}, true
	default:
		return Verdict{}, false
	}
}

// ResolveMissed decides at now about a resolve that came at the time at and passed unseen. What came since then is newer.
func (s Settings) ResolveMissed(d Document, e Event, at, now int64) (Document, Verdict) {
	if d.At > at {
		return d, Verdict{Action: Pass}
	}
	return s.Observe(d, e, now)
}

// FiringMissed notes a firing that came at the time at and passed unseen: people read it. What waits for them is not needed
// any more. What came since then is newer.
func (s Settings) FiringMissed(d Document, e Event, at int64) (Document, Verdict) {
	if d.At > at && d.Last != e.ID {
		return d, Verdict{}
	}
	d.Last, d.At = e.ID, max(d.At, at)
	if d.Quiet != nil {
		return s.keepQuiet(d, e, at)
	}
	verdict := Verdict{Unheld: d.Held != nil}
	d.Firing, d.Said, d.Silent, d.Held, d.Muted, d.Noted = true, true, "", nil, nil, max(d.Noted, at)
	return d, verdict
}

// fire passes a firing on.
func (s Settings) fire(d Document, now int64) (Document, Verdict) {
	changed := !d.Firing || d.Held != nil || d.Muted != nil
	d.Firing, d.Said, d.Silent, d.Held, d.Muted, d.Noted = true, true, "", nil, nil, now
	verdict := Verdict{Action: Pass}
	if changed {
		d, verdict.Note = s.change(d, now)
	}
	return d, verdict
}

// inhibit mutes a firing. If it was said before, it need not be said later.
func inhibit(d Document, e Event, now int64) (Document, Verdict) {
	if !d.Said {
		d.Firing, d.Silent = true, ""
		d.Muted = &Inhibited{ID: e.ID, By: e.Inhibition, Since: now, Next: now + lookAgain.Microseconds(), Data: e.Data}
	}
	return d, Verdict{Action: Mute, By: ByInhibition + e.Inhibition, Why: e.Source + " fires"}
}

// resolve mutes the resolve of a firing that nobody read, and passes any other on.
func (s Settings) resolve(d Document, e Event, now int64) (Document, Verdict) {
	wasFiring := d.Firing
	d.Firing = false
	switch {
	case d.Held != nil:
		d.Held, d.Silent, d.Unsaid = nil, ByHold, d.Held.ID
		return d, Verdict{Action: Mute, By: ByHold, Unheld: true, Why: "the alert resolved while it was held; neither is posted"}
	case d.Muted != nil:
		by := ByInhibition + d.Muted.By
		d.Muted, d.Silent, d.Unsaid = nil, by, d.Muted.ID
		return d, Verdict{Action: Mute, By: by, Why: "the alert resolved while it was inhibited"}
	case d.Silent != "":
		return d, Verdict{Action: Mute, By: d.Silent, Why: "the firing of the alert was not posted"}
	}
	d.Said = false
	if !wasFiring {
		return d, Verdict{Action: Pass}
	}
	d, note := s.change(d, now)
	if note != "" { // the resolve is posted as always, and the notice after it
		d.Quiet.ID, d.Quiet.Began = e.ID, e.ID
		d.Out = &Out{
			ID: e.ID + "/flapping", Data: e.Data, Note: note, Firing: true, Made: true, Of: e.ID, Again: now + claim.Microseconds(),
		}
	}
	return d, Verdict{Action: Pass}
}

// change counts a change between firing and resolved. The note is not empty if the problem flaps from now on.
func (s Settings) change(d Document, now int64) (Document, string) {
	if s.Flapping.Changes == 0 {
		return d, ""
	}
	since := now - s.Flapping.Within.Microseconds()
	d.Changes = append(slices.DeleteFunc(slices.Clone(d.Changes), func(at int64) bool { return at <= since }), now)
	n := len(d.Changes)
	if n < s.Flapping.Changes {
		return d, ""
	}
	d.Changes, d.Silent = nil, ""
	d.Quiet = &Quiet{Since: now, ChangedAt: now}
	return d, fmt.Sprintf("flapping: %d changes in %s; further changes are counted until it is stable for %s",
		n, short(s.Flapping.Within), short(s.Flapping.Stable))
}

// keepQuiet counts an event of a problem that flaps.
func (s Settings) keepQuiet(d Document, e Event, now int64) (Document, Verdict) {
	quiet := *d.Quiet
	if d.Firing == e.Resolved {
		quiet.Kept++
		quiet.ChangedAt = now
	}
	quiet.ID, quiet.Data = e.ID, e.Data
	d.Quiet, d.Firing = &quiet, !e.Resolved
	return d, Verdict{
		Action: Merge, By: ByFlapping, Why: "the alert is flapping; it is counted until it is stable for " + short(s.Flapping.Stable),
	}
}

// short writes a duration in words: "15 minutes".
func short(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int(d / unit.of); n > 0 && d%unit.of == 0 {
			return strconv.Itoa(n) + " " + plural(n, unit.name)
		}
	}
	return d.String()
}

func plural(n int, name string) string {
	if n == 1 {
		return name
	}
	return name + "s"
}
