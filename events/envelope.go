package events

import "bytes"

// unwrapped decodes the content of an envelope as the source that claims it, as if its sender had sent it here; nil if it is no
// JSON or no source can read it. topic is the category of an event without one.
func (in input) unwrapped(content []byte, topic string) []Event {
	inner := input{body: bytes.TrimSpace(content), limits: in.limits, sources: in.sources}
	var err error
	if inner.object, inner.items, err = parseBody(inner.body, in.limits.Depth); err != nil {
		return nil
	}
	inner.noteNames()
	for _, s := range in.sources { // the last one claims everything
		if !s.claims(inner) {
			continue
		}
		all, err := s.decode(inner)
		if err != nil {
			return nil
		}
		for i := range all {
			if all[i].Category == "" {
				all[i].Category = topic
			}
		}
		return all
	}
	return nil
}
