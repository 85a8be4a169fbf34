package server

import (
	"cmp"
	"net/http"
	"time"

	"slackrelay/events"
)

// decode reads what a sender says, and names the headers that rules may ask. Where the sender signs the body, nothing counts
// but what is signed: whoever saw a signed webhook can send it again, to another path and with other headers.
func (s *Server) decode(r *http.Request, who credential, channel, source string, b *body) ([]events.Event, http.Header, error) {
	w := events.Webhook{Source: source, Category: r.URL.Query().Get("category"), Header: r.Header, Body: b.plain}
	if who.signs {
		if err := who.unsigned(r, channel, b); err != nil {
			return nil, nil, err
		}
		if w.Category != "" {
			s.opts.Logger.WarnContext(r.Context(), "ignoring the unsigned category in the URL of a signed webhook", "channel", channel, "credential", who.name)
		}
		w = s.signedWebhook(w, who, b)
	}
	all, err := s.opts.Decoder.Decode(w)
	if err != nil {
		return nil, nil, err
	}
	if who.source != "" && who.source != all[0].Source {
		return nil, nil, errorf(unauthorized, "credential %q of channel %q is for %s, not for %s", who.name, channel, who.source, all[0].Source)
	}
	if who.signs && source != "" && who.source == "" {
		if seen := s.opts.Decoder.SourceOf(events.Webhook{Signed: w.Signed, Body: w.Body}); seen != all[0].Source {
			return nil, nil, errorf(unauthorized,
				"credential %[1]q of channel %[2]q signs the body, not the path, and the body looks like %[3]s; to read it as %[4]s, set the credential's source to %[4]s", who.name, channel, seen, all[0].Source)
		}
	}
	for i := range all {
		all[i].Scope = who.scope
	}
	return all, w.Header, nil
}

// signedWebhook is a webhook without what is not signed.
func (s *Server) signedWebhook(w events.Webhook, who credential, b *body) events.Webhook {
	w.Source, w.Category, w.Signed = cmp.Or(w.Source, who.source), "", who.proof.signed
	w.Header = s.opts.Decoder.Believed(who.source, w.Header)
	switch {
	case who.proof.body != nil:
		w.Body = who.proof.body
	case b.fromQuery:
		w.Body = nil
	}
	return w
}

// unsigned says what a signed webhook asks for, or says, where nothing is signed.
func (c credential) unsigned(r *http.Request, channel string, b *body) error {
	switch {
	case isTest(r):
		return errorf(forbidden, "credential %q of channel %q signs the body, not the URL, so it cannot use ?test=1; test with a token", c.name, channel)
	case b.media == multipartType:
		return errorf(unsupportedMediaType, "credential %q of channel %q signs the body, not the Content-Type with its boundary; send JSON", c.name, channel)
	case c.source == cloudEvents && r.Header.Get("Ce-Specversion") != "":
		return errorf(events.BadField,
			"credential %q of channel %q signs the body, not the headers with the attributes of a CloudEvent in binary mode; send it in structured mode", c.name, channel)
	}
	return nil
}

// cloudEvents is the body format whose attributes may stand in headers.
const cloudEvents = "cloudevents"

// Unbound tells whether a credential signs bodies of any format, so that only their shape says which it is.
func (c Credential) Unbound() bool { return c.signs() && c.source() == "" }

// Signs tells whether a credential is a signature that a secret makes.
func (c Credential) Signs() bool { return c.signs() && c.Kind != "sns" }

// Replayable is for how long what was signed can be sent again by anybody who saw it; 0 = for ever.
func (c Credential) Replayable() time.Duration {
	switch {
	case c.Kind == "sns":
		return snsFresh
	case c.Kind == "standard", c.TimestampHeader != "":
		return c.withDefaults().Tolerance
	}
	return 0
}
