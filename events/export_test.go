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
