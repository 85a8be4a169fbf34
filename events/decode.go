package events

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Webhook is the request of a sender. The caller bounds the size of the body.
type Webhook struct {
	Source string // the body format; "" = detect it from headers and body
	// Category replaces the category of every event; "" = each event has its own.
	Category string
	Header   http.Header // many senders put their format and a delivery id here
	Body     []byte
	// Signed identifies the signed text, for senders that sign the body and not the headers: equal texts have equal values.
	// Headers are then ignored, except those that the provider of the named source cannot sign; none of them has a part in an
	// event's id. "" = the headers can be trusted as much as the body.
	Signed string
}

// Options configure a Decoder. The zero value has the default limits and no sources but the relay's own.
//
//	decoder, err := events.NewDecoder(events.Options{Limits: events.Limits{Events: 100}})
type Options struct {
	Limits Limits
	// Mappings are further sources, which are asked before the relay's own.
	Mappings []Mapping
}

// Decoder turns webhooks into events.
type Decoder struct {
	limits   Limits
	sources  []source
	index    sourceIndex
	opaque   []*source // those whose body need not be JSON
	delivery []string  // headers with the id of a delivery
}

// NewDecoder makes a Decoder. The error names the mapping that is not valid, and its fault.
func NewDecoder(opts Options) (*Decoder, error) {
	d := &Decoder{limits: opts.Limits.withDefaults()}
	var faults settingFaults
	for i, m := range opts.Mappings {
		fault := faults.of(i, "source "+m.Name)
		m.check(fault)
		compiled := m.compile(fault)
		d.sources = append(d.sources, m.source(func() compiledMapping { return compiled }))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	d.sources = append(d.sources, known...)
	d.index = newSourceIndex(d.sources)
	for i := range d.sources {
		if s := &d.sources[i]; s.opaque != nil {
			d.opaque = append(d.opaque, s)
		}
	}
	d.delivery = deliveryHeaders(d.sources)
	return d, nil
}

// input is a webhook whose body is valid JSON, unless its source is opaque.
type input struct {
	object // the fields of the body's outermost object; empty for any other body
	header http.Header
	items  []jsontext.Value // the items of a body that is an array
	body   []byte
	values *bodyValue // the body as expressions see it; nil = no expression has asked for it
	named  bool       // the sender named the source
	limits Limits
	// origins are where the fields of each event came from; nil = nobody asks.
	origins *[][]Origin
	// decoder finds the source of what an envelope contains; nil = it is the content of one.
	decoder *Decoder
}

// Decode turns a webhook into its events, in the order of the body, with category, severity and id set.
//
// The id is the sender's own, else made from fingerprint, status and start time, else from the delivery header and the
// event's index, else random: two identical anonymous events are two events.
//
// Every error is an [*InputError]. No event points into the body, which the caller may use again.
func (d *Decoder) Decode(w Webhook) ([]Event, error) { return d.decode(w, nil) }

// decode decodes a webhook, and records where the fields of its events came from if origins is not nil.
func (d *Decoder) decode(w Webhook, origins *[][]Origin) ([]Event, error) {
	in, s, err := d.open(w)
	if err != nil {
		return nil, err
	}
	in.origins = origins
	all, err := s.decode(in)
	if err != nil {
		return nil, err
	}
	switch {
	case len(all) == 0:
		return nil, &InputError{Code: NoEvents, Message: "the body contains no events; post at least one"}
	case len(all) > d.limits.Events:
		return nil, tooMany(len(all), d.limits.Events)
	}
	setCategories(all, w.Category)
	delivery := cmp.Or(w.Signed, d.deliveryID(w.Header, s))
	ignoreOwnID := w.Signed != "" && len(s.headers) > 0 // an unsigned header has a part in it
	for i := range all {
		e := &all[i]
		e.complete(s.name, d.limits)
		if ignoreOwnID {
			e.ID = cut(deliveryEventID(delivery, i), maxID)
		} else {
			e.ID = e.identify(delivery, i)
		}
		e.shorten(d.limits.Event)
	}
	return all, nil
}

// setCategories normalises the category of each event, or gives all of them the same one. The events of a group mostly share
// one: it is normalised once.
func setCategories(all []Event, override string) {
	original, category := "", Uncategorized
	for i := range all {
		if c := cmp.Or(override, all[i].Category); c != original {
			original = c
			category = NormalizeCategory(c)
		}
		all[i].Category = category
	}
}

// SourceOf returns the name of the source that a webhook is decoded as; "" if it cannot be decoded.
func (d *Decoder) SourceOf(w Webhook) string {
	_, s, err := d.open(w)
	if err != nil {
		return ""
	}
	return s.name
}

// open checks a webhook and finds its source.
func (d *Decoder) open(w Webhook) (input, *source, error) {
	if w.Signed != "" {
		w.Header = d.TrustedHeaders(w.Source, w.Header)
	}
	in := input{header: w.Header, named: w.Source != "", limits: d.limits, decoder: d}
	for _, s := range d.opaque { // a header may announce a body that is not JSON
		if s.opaque(w.Header) && (w.Source == "" || w.Source == s.name) {
			in.body = w.Body
			return in, s, nil
		}
	}
	in.body = bytes.TrimSpace(bytes.TrimPrefix(w.Body, []byte("\xef\xbb\xbf")))
	if len(in.body) == 0 {
		return input{}, nil, &InputError{Code: EmptyBody, Message: "the body is empty; post a JSON object with at least a title or a text"}
	}
	var err error
	if in.object, in.items, err = parseBody(in.body, d.limits.Depth); err != nil {
		switch {
		case in.repeatsNames():
		case (w.Source == "" || w.Source == generic.name) && isPlainText(in.body, w.Header):
			return in, &generic, nil
		default:
			return input{}, nil, err
		}
	}
	s, err := d.find(w.Source, &in)
	return in, s, err
}

// TrustedHeaders returns those headers of a webhook with a signed body that are used all the same: the ones in which the
// provider of its source describes what happened.
func (d *Decoder) TrustedHeaders(source string, header http.Header) http.Header {
	kept := http.Header{}
	for _, s := range d.sources {
		if s.name != source {
			continue
		}
		for _, name := range s.headers {
			if values := header.Values(name); len(values) > 0 {
				kept[name] = values
			}
		}
	}
	return kept
}

// complete sets the fields that every event has, whatever its format, and bounds the rest.
func (e *Event) complete(name string, limits Limits) {
	e.Source = name
	if e.Severity == "" {
		e.Severity = Warning
	}
	if e.Title == "" && e.Text == "" { // the provider has changed its format: post what is left of it
		e.Title = "Event of " + name + " without a title"
	}
	e.bound(limits)
}

// identify returns the id of the event with this index in its webhook; see [Decoder.Decode].
func (e *Event) identify(delivery string, index int) string {
	switch {
	case e.ID != "":
		return cut(e.ID, maxID)
	case e.Fingerprint != "" && !e.StartedAt.IsZero():
		return e.Fingerprint + ":" + string(e.Status) + ":" + e.StartedAt.UTC().Format(time.RFC3339Nano)
	case delivery != "":
		return deliveryEventID(delivery, index)
	default:
		return rand.Text()
	}
}

func deliveryEventID(delivery string, index int) string { return fmt.Sprintf("%s#%d", delivery, index) }

func (d *Decoder) deliveryID(header http.Header, s *source) string {
	for _, name := range d.delivery { // they are canonical
		if values := header[name]; len(values) > 0 && values[0] != "" {
			return cut(values[0], maxID)
		}
	}
	if s.request == "" {
		return ""
	}
	return cut(header.Get(s.request), maxID)
}

func tooMany(n, limit int) error {
	return &InputError{Code: TooManyEvents, Message: fmt.Sprintf("the body contains %d events, at most %d are allowed; split it", n, limit)}
}
