package events

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Webhook is what a sender posted. The size of the body is bounded by the caller.
type Webhook struct {
	Source string // the body format; "" = find out from headers and body
	// Category is that of all its events, whatever they say; "" = what they say.
	Category string
	Header   http.Header // what many senders say their format and delivery ids in
	Body     []byte
	// Signed stands for all that is signed, where the sender signs the body and not the headers: the same for the same
	// text, whichever way it comes. Headers then say nothing, but those of the named source that its provider never signs,
	// and these name no event. "" = whoever sends may say what he likes.
	Signed string
}

// Options configure a Decoder.
type Options struct {
	Limits Limits
	// Mappings are sources of your own; they are asked before the relay's.
	Mappings []Mapping
}

// Decoder turns webhooks into events.
type Decoder struct {
	limits  Limits
	sources []source
}

// NewDecoder makes a Decoder. The error names the mapping that cannot be used, and says why.
func NewDecoder(opts Options) (*Decoder, error) {
	d := &Decoder{limits: opts.Limits.withDefaults()}
	for _, m := range opts.Mappings {
		mapped, err := m.source()
		if err != nil {
			return nil, err
		}
		d.sources = append(d.sources, mapped)
	}
	d.sources = append(d.sources, known...)
	return d, nil
}

// source is one body format.
type source struct {
	name string
	// claims tells from the headers and from the fields of the body's outermost object whether it is of this format.
	claims func(in input) bool
	decode func(in input) ([]Event, error)
	// opaque says that the body may be anything, not only JSON.
	opaque func(header http.Header) bool
	// headers are those in which the provider says what happened, beside the body that it signs.
	headers []string
}

// input is a webhook whose body was looked at.
type input struct {
	object // the fields of the body's outermost object; empty when the body is none
	header http.Header
	items  []jsontext.Value // of a body that is an array
	body   []byte
	named  bool // the sender named the source
	limits Limits
}

// one makes the decoder of a source whose webhooks are one event each.
func one(decode func(in input) Event) func(in input) ([]Event, error) {
	return func(in input) ([]Event, error) { return []Event{decode(in)}, nil }
}

// known are the sources of the relay, asked in this order; the last one takes what nobody claims.
var known = []source{
	grafana, alertmanager, sentry, gitea, github, gitlab, bitbucket, sns, cloudwatch, eventbridge, cloudevents, datadog, newrelic,
	pagerduty, pagerdutyEvents, opsgenie, azureMonitor, gcpMonitoring, uptimeKuma, uptimeRobot, statuspage, healthchecks, jenkins,
	argocd, kubernetes, kwatch, zabbix, splunk, slack, generic,
}

// aliases are other names for sources.
var aliases = map[string]string{
	"grafana_legacy": grafana.name, "prometheus": alertmanager.name, "google_cloud_monitoring": gcpMonitoring.name, "stackdriver": gcpMonitoring.name,
	"azure": azureMonitor.name, "slack_shaped": slack.name,
}

// Sources are the names that a webhook's source may have, without those of mappings.
func Sources() []string { return namesOf(known) }

// Sources are the names that a webhook's source may have.
func (d *Decoder) Sources() []string { return namesOf(d.sources) }

func namesOf(sources []source) []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.name
	}
	slices.Sort(names)
	return names
}

// standard decodes with the default limits and without mappings.
var standard = &Decoder{limits: Limits{}.withDefaults(), sources: known}

// Decode decodes a webhook with the default limits; see [Decoder.Decode].
func Decode(w Webhook) ([]Event, error) { return standard.Decode(w) }

// Decode turns a webhook into its events, in the order of the body, with category, severity and id set.
//
// The id is the sender's own, else made of fingerprint, status and start time, else of the delivery header
// and the event's place, else random: two identical anonymous events are two events.
//
// Every error is an [*InputError]. Nothing in an event points into the body, which may be used again.
func (d *Decoder) Decode(w Webhook) ([]Event, error) {
	in, s, err := d.open(w)
	if err != nil {
		return nil, err
	}
	all, err := s.decode(in)
	if err != nil {
		return nil, err
	}
	switch {
	case len(all) == 0:
		return nil, &InputError{Code: NoEvents, Message: "the body holds no events"}
	case len(all) > d.limits.Events:
		return nil, tooMany(len(all), d.limits.Events)
	}
	delivery, said, category := cmp.Or(w.Signed, deliveryID(w.Header)), "", Uncategorized
	byDelivery := w.Signed != "" && len(s.headers) > 0
	for i := range all {
		if c := cmp.Or(w.Category, all[i].Category); c != said { // a group has one for all its events
			said, category = c, NormalizeCategory(c)
		}
		all[i].Category = category
		if byDelivery { // by nothing that a header has a part in
			all[i].ID = fmt.Sprintf("%s#%d", delivery, i)
		}
		all[i].finish(s.name, delivery, i, d.limits)
	}
	return all, nil
}

// SourceOf is the name of the source that a webhook is decoded as; "" where it cannot be read.
func (d *Decoder) SourceOf(w Webhook) string {
	_, s, err := d.open(w)
	if err != nil {
		return ""
	}
	return s.name
}

// open looks at a webhook and finds its source.
func (d *Decoder) open(w Webhook) (input, source, error) {
	if w.Signed != "" {
		w.Header = d.Believed(w.Source, w.Header)
	}
	in := input{header: w.Header, named: w.Source != "", limits: d.limits}
	for _, s := range d.sources { // a body that is said elsewhere to be something else than JSON
		if s.opaque != nil && s.opaque(w.Header) && (w.Source == "" || w.Source == s.name) {
			in.body = w.Body
			return in, s, nil
		}
	}
	in.body = bytes.TrimSpace(bytes.TrimPrefix(w.Body, []byte("\xef\xbb\xbf")))
	if len(in.body) == 0 {
		return input{}, source{}, &InputError{Code: EmptyBody, Message: "the body is empty; post a JSON object with at least a title or a text"}
	}
	var err error
	if in.object, in.items, err = look(in.body, d.limits.Depth); err != nil {
		return input{}, source{}, err
	}
	s, err := d.find(w.Source, in)
	return in, s, err
}

// Believed are the headers of a webhook whose body is signed that may say something: those in which the provider of its
// source says what happened.
func (d *Decoder) Believed(source string, header http.Header) http.Header {
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

// find picks the format that was named, or the first that claims the body.
func (d *Decoder) find(name string, in input) (source, error) {
	if name == "" {
		for _, s := range d.sources {
			if s.claims(in) {
				return s, nil
			}
		}
		return generic, nil
	}
	plain := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	plain = cmp.Or(aliases[plain], plain)
	for _, s := range d.sources {
		if s.name == name || s.name == plain {
			return s, nil
		}
	}
	return source{}, &InputError{Code: UnknownSource, Message: fmt.Sprintf("source %q is unknown; one of %s", cut(name, maxPath), strings.Join(d.Sources(), ", "))}
}

// finish sets what does not depend on the format.
func (e *Event) finish(name, delivery string, index int, limits Limits) {
	e.Source = name
	if e.Severity == "" {
		e.Severity = Warning
	}
	if e.Title == "" && e.Text == "" { // its format has another shape by now; what it has is better than nothing
		e.Title = "Event of " + name + " without a title"
	}
	e.bound(limits)
	switch {
	case e.ID != "":
		e.ID = cut(e.ID, maxID)
	case e.Fingerprint != "" && !e.StartedAt.IsZero():
		e.ID = e.Fingerprint + ":" + string(e.Status) + ":" + e.StartedAt.UTC().Format(time.RFC3339Nano)
	case delivery != "":
		e.ID = fmt.Sprintf("%s#%d", delivery, index)
	default:
		e.ID = rand.Text()
	}
	e.shorten(limits.Event)
}

// deliveryHeaders carry an id that stays the same when the sender sends a webhook again. One that is signed comes first: a
// webhook that somebody sends again must not become another one by a header that he adds.
var deliveryHeaders = []string{
	"Webhook-Id", "Idempotency-Key", "X-Gitea-Delivery", "X-Github-Delivery", "X-Gitlab-Event-Uuid", "X-Request-Uuid",
	"X-Amz-Sns-Message-Id", "Request-Id",
}

func deliveryID(header http.Header) string {
	for _, name := range deliveryHeaders {
		if id := header.Get(name); id != "" {
			return cut(id, maxID)
		}
	}
	return ""
}

func tooMany(n, limit int) error {
	return &InputError{Code: TooManyEvents, Message: fmt.Sprintf("the body holds %d events, at most %d are taken at once; split it", n, limit)}
}
