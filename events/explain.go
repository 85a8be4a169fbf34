package events

import "slices"

// Explained is an event, and where its fields came from.
type Explained struct {
	Event   Event    `json:"event"`
	Origins []Origin `json:"origins"` // in the order in which the fields were filled
}

// Explain is [Decoder.Decode] with where each field of the events came from. The fields that a source of the relay decodes in Go
// have one origin together.
func (d *Decoder) Explain(w Webhook) ([]Explained, error) {
	var origins [][]Origin
	all, err := d.decode(w, &origins)
	if err != nil {
		return nil, err
	}
	explained := make([]Explained, len(all))
	for i, e := range all {
		explained[i].Event = e
		if i < len(origins) {
			explained[i].Origins = origins[i]
		}
		if explained[i].Origins == nil {
			explained[i].Origins = []Origin{{Field: "all", Rule: "the format of " + e.Source}}
		}
	}
	return explained, nil
}

// explain records where the fields of an event came from, if anybody asks.
func (in input) explain(index int, origins ...[]Origin) {
	if in.origins == nil {
		return
	}
	for len(*in.origins) <= index {
		*in.origins = append(*in.origins, nil)
	}
	(*in.origins)[index] = slices.Concat(origins...)
}
