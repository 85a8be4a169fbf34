package simulation

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/store"
)

// problems follows the problems of a trace, and finds those that nobody heard. A problem begins with the firing of an alert and
// ends with its resolve. It is heard when a message shows one of its events, alone, in its group or as a further event of a message,
// or while a message says that its alert flaps. What an inhibition mutes is heard when its source is.
type problems struct {
	isOff       bool          // the limits alone are played
	lasting     time.Duration // problems that are shorter need no message
	inhibitions []*problem.CompiledInhibition
	open        map[string]*episode // by fingerprint
	ended       []*episode
	shown       map[string]time.Duration // when a message showed the alert last
	asked       map[string]time.Duration // when an event of the alert arrived last that was not counted as flapping
	sources     map[string]*episode      // the last one of each document of an inhibition
	queued      map[int64]entry          // by number
}

// episode is one problem.
type episode struct {
	category    string
	isCritical  bool
	at          time.Duration
	lasts       time.Duration
	heard       time.Duration // never = not yet
	isHeartbeat bool          // it is no problem
	source      string        // the document of the inhibition that mutes it; "" = none does
}

const never = time.Duration(-1)

func newProblems(setting *Setting) *problems {
	return &problems{
		isOff:   setting.Multi,
		lasting: max(setting.Lasting, setting.Channel.Hold), inhibitions: setting.Inhibitions,
		open: map[string]*episode{}, shown: map[string]time.Duration{}, asked: map[string]time.Duration{},
		sources: map[string]*episode{}, queued: map[int64]entry{},
	}
}

// receive begins a problem, or notes its end.
func (p *problems) receive(e *Event, at time.Duration) {
	if p.isOff || e.Fingerprint == "" || e.Status == "" {
		return
	}
	one := p.open[e.Fingerprint]
	switch {
	case e.Status == events.Firing && one == nil:
		p.open[e.Fingerprint] = &episode{category: e.Category, isCritical: e.Severity == events.Critical, at: at, heard: never}
	case e.Status == events.Resolved && one != nil:
		one.lasts = at - one.at
		p.ended = append(p.ended, one)
	}
}

// note notes what a receipt says of an event, and forgets a problem that is resolved.
func (p *problems) note(e *events.Event, at time.Duration, receipt *pipeline.EventReceipt) {
	one := p.open[e.Fingerprint]
	if one == nil {
		return
	}
	if e.Status == events.Firing {
		p.noteSource(e, one)
	}
	switch inhibition, isInhibited := strings.CutPrefix(receipt.By, "inhibition "); {
	case isInhibited:
		one.source = p.document(inhibition, e)
	case receipt.By == problem.ByFlapping:
		if shown, ok := p.shown[e.Fingerprint]; ok && shown >= p.asked[e.Fingerprint] {
			one.hear(at)
		}
	case strings.HasPrefix(receipt.By, pipeline.HeartbeatSource+" "):
		one.isHeartbeat = true
	default:
		p.asked[e.Fingerprint] = at
	}
	if e.Status == events.Resolved {
		delete(p.open, e.Fingerprint)
	}
}

// noteSource notes that a problem may mute others.
func (p *problems) noteSource(e *events.Event, one *episode) {
	for _, inhibition := range p.inhibitions {
		if inhibition.IsSource(e) {
			p.sources[inhibition.Document(e)] = one
		}
	}
}

func (p *problems) document(inhibition string, e *events.Event) string {
	for _, one := range p.inhibitions {
		if one.Name == inhibition {
			return one.Document(e)
		}
	}
	return ""
}

// entry is a queued message about an alert.
type entry struct {
	fingerprint string
	about       *episode // nil = the alert is over
}

// decide notes a decision about an event whose payload is queued. Nobody waits for a resolve.
func (p *problems) decide(at time.Duration, payload []byte, outcome store.Outcome, number int64) {
	if len(p.open) == 0 || payload == nil {
		return
	}
	var e events.Event
	if json.NewDecoder(bytes.NewReader(payload)).Decode(&e) != nil || e.Status == events.Resolved {
		return
	}
	one := entry{e.Fingerprint, p.open[e.Fingerprint]}
	switch outcome.CountedAs() { //nolint:exhaustive // the others show nothing
	case store.Merged:
		p.show(at, one)
	case store.Admitted:
		p.queued[number] = one
	}
}

// post notes that an entry is posted.
func (p *problems) post(at time.Duration, number int64) {
	if one, ok := p.queued[number]; ok {
		delete(p.queued, number)
		p.show(at, one)
	}
}

func (p *problems) show(at time.Duration, one entry) {
	p.shown[one.fingerprint] = at
	if one.about != nil {
		one.about.hear(at)
	}
}

func (e *episode) hear(at time.Duration) {
	if e.heard == never {
		e.heard = at
	}
}

// count counts the problems that lasted, up to the end of the trace.
func (p *problems) count(r *Result, end time.Duration) {
	for _, one := range p.open {
		one.lasts = end - one.at
		p.ended = append(p.ended, one)
	}
	for _, one := range p.ended {
		if one.lasts <= p.lasting || one.isHeartbeat {
			continue
		}
		r.Problems++
		if source := p.sources[one.source]; source != nil && source.heard != never {
			one.hear(max(one.at, source.heard))
		}
		if one.heard == never {
			r.ProblemsUnheard++
			if one.isCritical {
				r.CriticalUnheard++
			}
			continue
		}
		r.LatestNotice = max(r.LatestNotice, (one.heard - one.at).Seconds())
	}
}
