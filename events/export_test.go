package events

// standard decodes with the default limits and without mappings.
var standard = &Decoder{limits: DefaultLimits(), sources: known}

// Decode decodes a webhook with the default limits and without mappings.
func Decode(w Webhook) ([]Event, error) { return standard.Decode(w) }

// Sources returns the names of the relay's own sources.
func Sources() []string { return standard.Sources() }

// Claims returns the sources that claim a webhook, of the rank that is asked first: more than one would leave the choice to
// their names. The fallback is not among them.
func Claims(w Webhook) []string {
	w.Source = ""
	in, _, err := standard.open(w)
	if err != nil {
		return nil
	}
	var names []string
	var first rank
	for _, s := range known {
		if s.rank == fallback || !s.claims(in) || len(names) > 0 && s.rank != first {
			continue
		}
		first = s.rank
		names = append(names, s.name)
	}
	return names
}

// IsLink is isLink.
func IsLink(address string) bool { return isLink(address) }

// DecodeGenericBothWays decodes an object of the relay's own format as the decoder does, and with reflection, which accepts other
// spellings too. ok is false if the body is no object.
func DecodeGenericBothWays(body []byte) (usual, reflected Event, usualErr, reflectedErr error, ok bool) {
	fields, _, err := parseBody(body, standard.limits.Depth)
	if err != nil || fields == nil {
		return Event{}, Event{}, nil, nil, false
	}
	usual, usualErr = decodeGenericEvent(fields, body, "")
	reflected, reflectedErr = decodeGenericByReflection(fields, body, "")
	return usual, reflected, usualErr, reflectedErr, true
}
