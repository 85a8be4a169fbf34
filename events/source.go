package events

//go:generate go test -count=1 -run TestGoldenListOfSources -update

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// source is one body format. Each is a file of its own: one with a mapping in the folder mappings where expressions suffice,
// else one with a variable; go generate lists those in sources.go.
type source struct {
	name    string
	aliases []string // other names that a path may have for it
	rank    rank
	marks   marks // widen them with claims
	// claims reports, from the headers and the fields of the body's outermost object, whether a webhook has this format.
	// Two sources of the same rank never claim the same webhook.
	claims func(in input) bool
	decode func(in input) ([]Event, error)
	// evaluates is whether claims may evaluate an expression, which needs the whole body.
	evaluates bool
	// opaque reports from the headers that the body need not be JSON; nil = it always is.
	opaque func(header http.Header) bool
	// headers describe what happened, beside the body that the provider signs.
	headers []string
	// delivery is the header with an id that stays the same when the provider sends a webhook again; "" = there is none.
	delivery string
	// request is such a header that proxies set too, so that it says nothing about webhooks of other sources.
	request string
}

// rank decides which source is asked first whether a webhook is its own; the lowest comes first.
type rank int

const (
	variant        rank = iota - 2 // a format of another source with more in it: ask it before that source
	byHeader                       // known by a header that only this provider sends
	byFields                       // known by fields that no other format has; the usual rank
	byCommonFields                 // known by fields that other formats have too
	fallback                       // for webhooks that no other source claims
)

// known are the sources of the relay, in the order in which they are asked.
var known = ranked(slices.Concat(declared, mapped))

func ranked(sources []source) []source {
	return slices.SortedFunc(slices.Values(sources), func(a, b source) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
}

// one makes the decoder of a source whose webhooks are one event each.
func one(decode func(in input) Event) func(in input) ([]Event, error) {
	return func(in input) ([]Event, error) { return []Event{decode(in)}, nil }
}

// each decodes a list with one event in each item. The index of an item is for its errors.
func each[T any](list []T, limits Limits, decode func(item T, index int) (Event, error)) ([]Event, error) {
	if len(list) > limits.Events {
		return nil, tooMany(len(list), limits.Events)
	}
	all := make([]Event, len(list))
	for i, item := range list {
		var err error
		if all[i], err = decode(item, i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// find returns the source of that name, or the first one that claims the webhook.
func (d *Decoder) find(name string, in *input) (*source, error) {
	if name == "" {
		var few [16]int
		for _, i := range d.index.candidates(few[:0], *in) {
			s := &d.sources[i]
			if s.evaluates && in.values == nil {
				in.values = &bodyValue{}
			}
			if s.claims(*in) {
				return s, nil
			}
		}
		return &generic, nil
	}
	plain := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	for i := range d.sources {
		s := &d.sources[i]
		if s.name == name || s.name == plain || slices.Contains(s.aliases, plain) {
			return s, nil
		}
	}
	return nil, &InputError{
		Code: UnknownSource,
		Message: fmt.Sprintf("source %q is unknown; use one of %s, or another one of docs/sources.md", cut(name, maxPath),
			strings.Join(d.similar(plain), ", ")),
	}
}

// maxSimilar is how many sources an error names.
const maxSimilar = 12

// similar returns the names of some sources, those first that begin like a name.
func (d *Decoder) similar(name string) []string {
	shared := func(other string) int {
		n := 0
		for n < min(len(name), len(other)) && name[n] == other[n] {
			n++
		}
		return n
	}
	names := d.Sources()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(shared(b), shared(a)) })
	return names[:min(len(names), maxSimilar)]
}

// Sources returns the names that a webhook's source may have, in order.
func (d *Decoder) Sources() []string {
	names := make([]string, len(d.sources))
	for i, s := range d.sources {
		names[i] = s.name
	}
	slices.Sort(names)
	return names
}

// deliveryHeaders returns the headers with an id that stays the same when a webhook is sent again. The signed one comes first:
// whoever replays a webhook must not be able to make it another one by adding a header. The names are canonical.
func deliveryHeaders(sources []source) []string {
	headers := []string{"Webhook-Id", "Idempotency-Key", "Svix-Id"}
	for _, s := range sources {
		if s.delivery != "" {
			headers = append(headers, http.CanonicalHeaderKey(s.delivery))
		}
	}
	return append(headers, "Linear-Delivery", "X-Atlassian-Webhook-Identifier", "X-Gogs-Delivery", "X-Snyk-Transport-Id", "Request-Id")
}
