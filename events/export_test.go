package events

// standard decodes with the default limits and without mappings.
var standard = func() *Decoder {
	d, err := NewDecoder(Options{})
	if err != nil {
		panic(err)
	}
	return d
}()

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

// Decoded is the result of decoding a body.
type Decoded struct {
	Event Event
	Err   error
}

// DecodeGenericBothWays decodes an object of the relay's own format as the decoder does, and with reflection, which accepts other
// spellings too. ok is false if the body is no object.
func DecodeGenericBothWays(body []byte) (usual, reflected Decoded, ok bool) {
	fields, _, _ := parseBody(body, standard.limits.Depth) // of a faulty body there are none
	if fields == nil {
		return usual, reflected, false
	}
	if !isOwn(fields) {
		return usual, reflected, false
	}
	usual.Event, usual.Err = decodeGenericEvent(input{}, fields, body, 0, "")
	reflected.Event, reflected.Err = decodeGenericByReflection(body, "")
	return usual, reflected, true
}

// CheckMapping returns the faults of a mapping of the relay's own.
func CheckMapping(file string) error {
	m, err := readMapping(file)
	if err != nil {
		return err
	}
	_, err = NewDecoder(Options{Mappings: []Mapping{m}})
	return err
}
