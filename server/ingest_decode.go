package server

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// parse waits until the body may be decoded, and turns it into JSON.
func (s *Server) parse(in *ingestRequest) (err error) {
	plain := in.body.plain
	weight := len(plain) + eventWeight*bytes.Count(plain, []byte{'{'})
	if in.gate, err = s.decodeGate.enter(in.r.Context(), int64(weight)); err != nil {
		return err
	}
	return in.body.parseForm(in, s.opts.MaxBody)
}

// decode decodes the events of a body, and selects the headers that rules may use. If the sender signs the body, only what is
// signed counts: anybody who saw a signed webhook can send it again, to another path and with other headers.
func (s *Server) decode(in *ingestRequest, from sender) (pipeline.Arrival, error) {
	webhook := events.Webhook{
		Source: in.source, Category: in.query().Get("category"), Header: in.r.Header, Body: in.body.plain,
	}
	webhook.Header = in.textHeader()
	if from.signs {
		if err := from.refuseUnsigned(in); err != nil {
			return pipeline.Arrival{}, err
		}
		if webhook.Category != "" {
			s.opts.Logger.WarnContext(in.r.Context(), "ignoring the unsigned category in the URL of a signed webhook",
				"channel", from.channel, "credential", from.name)
		}
		webhook = s.signedWebhook(webhook, in.body, from)
	}
	all, err := s.opts.Decoder.Decode(webhook)
	if err != nil {
		return pipeline.Arrival{}, err //nolint:wrapcheck // it is the reply
	}
	if err := s.checkSource(in, from, webhook, all[0].Source); err != nil {
		return pipeline.Arrival{}, err
	}
	for i := range all {
		all[i].Scope = from.scope
		if all[i].Category == events.Uncategorized {
			all[i].Category = from.category(all[0].Source, webhook.Header)
		}
	}
	in.body.release() // the events contain copies
	return pipeline.Arrival{
		Channel: from.channel, Sender: from.name, Header: webhook.Header, Test: in.isTest(), Track: in.asks("track") && !from.signs, Events: all,
	}, nil
}

// chatSources are the body formats of messages for people, which have no category.
var chatSources = map[string]bool{slackSource: true, "discord": true, "teams": true, "google_chat": true, "mattermost": true}

// category returns the category of events that have none.
func (f sender) category(source string, header http.Header) string {
	switch {
	case chatSources[source]:
		return events.NormalizeCategory(f.name)
	case f.verify == nil, f.name == defaultSender: // the name is an address, or tells nothing
		return events.FallbackCategory("", header)
	default:
		return events.FallbackCategory(f.name, header)
	}
}

// textParameters are what a sender may say about a text, in a header or in the query of the URL, as in ntfy.
var textParameters = []string{"Title", "Priority", "Tags", "Click"}

// textHeader returns the headers of a request, for a text with those that its URL has in their place.
func (in *ingestRequest) textHeader() http.Header {
	query, body := in.query(), in.body.plain
	if query == nil || in.body.fromQuery || len(body) == 0 || body[0] == '{' || body[0] == '[' {
		return in.r.Header
	}
	header := in.r.Header.Clone()
	for _, name := range textParameters {
		if value := query.Get(strings.ToLower(name)); value != "" && header.Get(name) == "" {
			header.Set(name, value)
		}
	}
	return header
}

// checkSource refuses a body of another format than the credential is valid for. A credential that signs bodies of any format
// does not sign the path, so the path must not change how the body is read.
func (s *Server) checkSource(in *ingestRequest, from sender, webhook events.Webhook, source string) error {
	if from.source != "" {
		if from.source == source {
			return nil
		}
		return errorf(unauthorized, "credential %q of channel %q is for %s, not for %s", from.name, from.channel, from.source, source)
	}
	if !from.signs || in.source == "" {
		return nil
	}
	detected := s.opts.Decoder.SourceOf(events.Webhook{Signed: webhook.Signed, Body: webhook.Body})
	if detected == source {
		return nil
	}
	return errorf(unauthorized, "credential %[1]q of channel %[2]q signs the body, not the path, and the body looks like %[3]s; "+
		"to read it as %[4]s, set the credential's source to %[4]s", from.name, from.channel, detected, source)
}

// signedWebhook returns a webhook without its unsigned parts.
func (s *Server) signedWebhook(webhook events.Webhook, b *body, from sender) events.Webhook {
	webhook.Source = cmp.Or(webhook.Source, from.source)
	webhook.Category = ""
	webhook.Signed = from.proof.signed
	webhook.Header = s.opts.Decoder.TrustedHeaders(from.source, webhook.Header)
	switch {
	case from.proof.body != nil:
		webhook.Body = from.proof.body
	case b.fromQuery:
		webhook.Body = nil
	}
	return webhook
}

// refuseUnsigned refuses a signed webhook that depends on something that its sender does not sign.
func (f sender) refuseUnsigned(in *ingestRequest) error {
	switch {
	case in.isTest():
		return errorf(forbidden, "credential %q of channel %q signs the body, not the URL, so it cannot use ?test=1; test with a token",
			f.name, f.channel)
	case in.body.media == multipartType:
		return errorf(unsupportedMediaType, "credential %q of channel %q signs the body, not the Content-Type with its boundary; send JSON",
			f.name, f.channel)
	case f.source == cloudEvents && in.r.Header.Get("Ce-Specversion") != "":
		return errorf(events.BadField, "credential %q of channel %q signs the body, not the headers with the attributes of a CloudEvent "+
			"in binary mode; send it in structured mode", f.name, f.channel)
	}
	return nil
}

// cloudEvents is the body format whose attributes may be in headers.
const cloudEvents = "cloudevents"

// isTest reports whether a webhook asks for the test lane.
func (in *ingestRequest) isTest() bool { return in.asks("test") }

// asks reports whether a parameter of the query is true.
func (in *ingestRequest) asks(parameter string) bool {
	query := in.query()
	if query == nil { // an error of ParseBool is not made for nothing
		return false
	}
	asked, err := strconv.ParseBool(query.Get(parameter))
	return asked && err == nil
}
