package events

import "bytes"

// unwrapped decodes the content of an envelope as the source that claims it, as if its sender had sent it here; nil if it is no
// JSON or no source can read it. topic is the category of an event without one.
func (in input) unwrapped(content []byte, topic string) []Event {
	if in.decoder == nil {
		return nil
	}
	inner := input{header: nil, body: bytes.TrimSpace(content), limits: in.limits}
	var err error
	if inner.object, inner.items, err = parseBody(inner.body, in.limits.Depth); err != nil {
		return nil
	}
	s, err := in.decoder.find("", &inner)
	if err != nil {
		return nil
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
