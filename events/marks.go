package events

import (
	"net/http"
	"slices"
	"strings"
)

// marks are fields of the outermost object and headers by which a source is found: each of its webhooks has at least one of
// them. So the decoder asks only the sources whose marks a webhook has, and not all, whether it is theirs. Without marks a source
// is always asked.
type marks struct {
	fields  []string
	headers []string
}

// marks returns one field that every webhook of the mapping has, or those of which each has one; not those that the events of
// the relay have too, where there are others. Without such fields it returns the mapping's header.
func (m Mapping) marks() marks {
	var common []string
	for _, alternatives := range m.Fields {
		var names []string
		for path := range strings.SplitSeq(alternatives, "|") {
			name, _, _ := strings.Cut(strings.TrimSpace(path), ".")
			names = append(names, name)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return genericFields[name] }) {
			return marks{fields: names}
		}
		common = names
	}
	if header, _, _ := strings.Cut(m.Header, ":"); header != "" {
		return marks{headers: []string{header}}
	}
	return marks{fields: common}
}

// sourceIndex finds the sources that may claim a webhook, by their places in the order in which they are asked.
type sourceIndex struct {
	size     int
	byField  map[string][]int
	byHeader map[string][]int
	always   []int
}

func newSourceIndex(sources []source) sourceIndex {
	x := sourceIndex{size: len(sources), byField: map[string][]int{}, byHeader: map[string][]int{}}
	for i := range sources {
		for _, name := range sources[i].marks.fields {
			x.byField[name] = append(x.byField[name], i)
		}
		for _, name := range sources[i].marks.headers {
			name = http.CanonicalHeaderKey(name)
			x.byHeader[name] = append(x.byHeader[name], i)
		}
		if len(sources[i].marks.fields)+len(sources[i].marks.headers) == 0 {
			x.always = append(x.always, i)
		}
	}
	return x
}

// candidates appends the places of the sources that may claim a webhook, in order. Those that it leaves out do not.
func (x *sourceIndex) candidates(places []int, in input) []int {
	if in.items != nil { // there are no fields to go by
		for i := range x.size {
			places = append(places, i)
		}
		return places
	}
	places = append(places, x.always...)
	for i := range in.object {
		places = append(places, x.byField[in.object[i].name]...)
	}
	for name := range in.header {
		places = append(places, x.byHeader[name]...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}
