package problem

import (
	"fmt"
	"time"
)

// Inhibiting is what is known of the source of an inhibited event.
type Inhibiting struct {
	Inhibition, Source string // that mutes the event now; "" = none does
	ReleaseAt          int64  // when the event may be posted at the earliest, if none mutes it then, microseconds
}

// Wake looks at a document whose wake time has passed. inhibiting is about the event that waits in it; it is not needed where
// [Document.Subject] is nil. If an event that was held is muted now, unheld is true. The document may have an event that
// must be admitted then.
func (s Settings) Wake(d Document, now int64, inhibiting Inhibiting) (_ Document, unheld bool) {
	if d.Out != nil {
		again := *d.Out
		again.Again = now + claim.Microseconds()
		again.Tries++
		d.Out = &again
		return d, false
	}
	if due := d.Wake(s); due == 0 || due > now {
		return d, false
	} else if now-due > late.Microseconds() && d.NotUntil == 0 {
		d.NotUntil = now + grace.Microseconds()
		return d, false
	}
	d.NotUntil = 0
	switch {
	case d.Held != nil && inhibiting.Inhibition != "":
		e := Event{ID: d.Held.ID, Data: d.Held.Data, Inhibition: inhibiting.Inhibition, Source: inhibiting.Source}
		d.Held = nil
		d, _ = inhibit(d, e, now)
		return d, true
	case d.Held != nil:
		held := *d.Held
		d, verdict := s.fire(d, now)
		d.Out = &Out{ID: held.ID, Data: held.Data, Note: verdict.Note, Firing: true, Again: now + claim.Microseconds()}
		return d.withNewest(held.ID, nil), false
	case d.Muted != nil:
		return s.wakeMuted(d, now, inhibiting), false
	default:
		return s.wakeQuiet(d, now), false
	}
}

// withNewest gives a problem that just began to flap its newest event; without data, it is the one in Out, and [Document.Finish]
// keeps it: a document has room for one long event only.
func (d Document) withNewest(id string, data []byte) Document {
	if d.Quiet != nil && d.Quiet.Data == nil {
		quiet := *d.Quiet
		quiet.ID, quiet.Data = id, data
		d.Quiet = &quiet
	}
	return d
}

// wakeMuted looks at an inhibited event: it is said some time after the end of its source.
func (s Settings) wakeMuted(d Document, now int64, inhibiting Inhibiting) Document {
	muted := *d.Muted
	if inhibiting.Inhibition != "" || inhibiting.ReleaseAt > now {
		muted.Next = now + lookAgain.Microseconds()
		if inhibiting.Inhibition != "" { // nothing is released before then
			muted.By = inhibiting.Inhibition
			muted.Next = max(muted.Next, min(inhibiting.ReleaseAt, now+lookAtLeast.Microseconds()))
		} else {
			muted.Next = min(muted.Next, inhibiting.ReleaseAt)
		}
		d.Muted = &muted
		return d
	}
	d, verdict := s.fire(d, now)
	note := fmt.Sprintf("still firing; inhibition %q muted it for %s", muted.By, rounded(now-muted.Since))
	if verdict.Note != "" {
		note = verdict.Note
	}
	d.Out = &Out{
		ID: muted.ID + "/released", Data: muted.Data, Note: note, Firing: true, Made: true, Of: muted.ID,
		Again: now + claim.Microseconds(),
	}
	return d.withNewest(muted.ID, nil)
}

// wakeQuiet says the present state of a problem that flapped and is stable again.
func (s Settings) wakeQuiet(d Document, now int64) Document {
	quiet := *d.Quiet
	d.Quiet, d.Said = nil, d.Firing
	state := "resolved"
	if d.Firing {
		state = "still firing"
	}
	d.Out = &Out{
		ID: fmt.Sprintf("%s/stable/%d", quiet.ID, quiet.Since), Data: quiet.Data, Firing: d.Firing, Made: true, Of: quiet.ID,
		Note: fmt.Sprintf("%s; stable for %s, after %d more %s that nobody had to read",
			state, short(s.Flapping.Stable), quiet.Kept, plural(quiet.Kept, "change")),
		Again: now + claim.Microseconds(),
	}
	return d
}

// Subject is the event that waits for the end of its hold or of its source, to be asked for its inhibitions; nil = none
// does.
func (d *Document) Subject() []byte {
	switch {
	case d.Held != nil:
		return d.Held.Data
	case d.Muted != nil:
		return d.Muted.Data
	default:
		return nil
	}
}

// Finish returns the document after its event was admitted.
func (d Document) Finish() Document {
	if d.Quiet != nil && d.Out != nil {
		d = d.withNewest(d.Quiet.ID, d.Out.Data)
	}
	d.Out = nil
	return d
}

// rounded writes a time in whole seconds.
func rounded(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(time.Second).String()
}
