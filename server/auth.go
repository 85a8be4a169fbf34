package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// defaultSender is the name of a sender that presents the channel's ingress token.
const defaultSender = "default"

// ingress is who may send to a channel.
type ingress struct {
	channel     string
	credentials []credential // any one is enough; the channel's token is among them
	allowed     addressList  // empty = all addresses
	signed      bool         // a credential signs the body, so the body must be read to check it
	throttled   []string     // sources that get 429 if all their events were dropped
}

// credential is a credential of a channel, ready to be checked.
type credential struct {
	name     string
	source   string // the only body format that it is valid for; "" = any
	required string // what a sender must present
	signs    bool   // it signs the body

	maySilence bool   // it may make and end silences of the channel
	scope      string // makes the ids of its events distinct from those of other credentials; "" = it is the only one
	verify     verifier
}

// verifier checks what a request presents. It returns errRefused or errUndecided if that is not enough.
type verifier func(in *ingestRequest) (proof, error)

// proof is what a valid signature covers.
type proof struct {
	signed string // identifies all that is signed: the same if the same is sent again; "" = nothing is signed
	body   []byte // all that is signed, if that is not the body as sent
}

// sender is who sent a request: the credential that it presented, or, in a channel without credentials, its address as the name.
type sender struct {
	credential
	channel string
	proof   proof
}

// Why a credential was not accepted.
var (
	errRefused   = errors.New("not verified")
	errUndecided = errors.New("cannot be verified now")
)

func (s *Server) newIngress(ch Channel) ingress {
	entry := ingress{channel: ch.Name, allowed: ch.AllowFrom, throttled: ch.Throttled}
	all := ch.Credentials
	if ch.IngressToken != "" {
		all = append([]Credential{{Name: defaultSender, Kind: "bearer", Secret: ch.IngressToken}}, all...)
	}
	for _, c := range all {
		compiled := credential{
			name: c.Name, source: c.source(), required: c.required(), signs: c.signsBody(), verify: s.verifier(c), maySilence: c.Silences,
		}
		if len(all) > 1 {
			compiled.scope = ch.Name + "/" + c.Name
		}
		entry.signed = entry.signed || compiled.signs
		entry.credentials = append(entry.credentials, compiled)
	}
	return entry
}

// ingressOf returns the ingress of a channel, if the address of the sender is allowed to send there.
func (s *Server) ingressOf(in *ingestRequest, channel string) (ingress, error) {
	entry, ok := s.ingresses[channel]
	if !ok {
		return ingress{}, errUnknownChannel(channel)
	}
	if len(entry.credentials) == 0 && fromPage(in.r) {
		return ingress{}, errorf(forbidden, "channel %q has no credential, so it refuses requests from a page in a browser "+
			"(Origin, Sec-Fetch-Site); set ingress_token", channel)
	}
	unreadable := in.address.Zone() == unreadableZone
	if unreadable {
		s.logUnreadable(in.r, channel)
	}
	if len(entry.allowed) > 0 && !entry.allowed.contains(in.address) {
		address := in.address.String()
		if unreadable {
			address = "an unreadable address in X-Forwarded-For"
		}
		return ingress{}, errorf(forbidden, "channel %q does not accept webhooks from %s; check its allow_from, "+
			"and trusted_proxies if the relay is behind a proxy", channel, address)
	}
	return entry, nil
}

// identify finds out who sends a request, and reads its body. Credentials that need no body are tried first: the body of a
// sender without a valid one is not read, unless the channel accepts signed bodies; then it is read within the share of
// unauthenticated requests.
func (s *Server) identify(in *ingestRequest, channel string) (sender, error) {
	entry, err := s.ingressOf(in, channel)
	if err != nil {
		return sender{}, err
	}
	from, err := s.authenticate(in, entry)
	authenticated := err == nil
	if authenticated {
		err = in.reserved.authenticated(channel)
	} else if entry.signed {
		err = nil
	}
	if err != nil {
		return sender{}, err
	}
	if err := s.readBody(in); err != nil {
		return sender{}, err
	}
	if !authenticated {
		if from, err = s.authenticate(in, entry); err != nil {
			return sender{}, err
		}
		if err := in.reserved.authenticated(channel); err != nil {
			return sender{}, err
		}
	}
	return from, s.decompress(in)
}

// authenticate checks the credentials of a channel. Signatures are checked only after the body was read, and credentials of
// another source than the path names are skipped.
func (s *Server) authenticate(in *ingestRequest, entry ingress) (sender, error) {
	if len(entry.credentials) == 0 {
		s.startSpan(in, false)
		return sender{credential: credential{name: addressName(in.address)}, channel: entry.channel}, nil
	}
	var skipped []string
	undecided := false
	for _, c := range entry.credentials {
		if c.signs && in.body == nil {
			continue
		}
		if in.source != "" && c.source != "" && c.source != in.source {
			skipped = append(skipped, c.source)
			continue
		}
		proof, err := c.verify(in)
		if err == nil {
			s.startSpan(in, true)
			return sender{credential: c, channel: entry.channel, proof: proof}, nil
		}
		undecided = undecided || errors.Is(err, errUndecided)
	}
	if undecided {
		return sender{}, errorf(unavailable, "channel %q cannot check the signature now; send the request again", entry.channel)
	}
	return sender{}, entry.errUnauthorized(in.source, skipped)
}

// maxQuoted is how many bytes of a sender's text an error message repeats.
const maxQuoted = 100

// errUnauthorized names what a channel requires. skipped are the sources of credentials that were not tried, because the path
// names another source.
func (g ingress) errUnauthorized(source string, skipped []string) error {
	required := make([]string, 0, len(g.credentials))
	for _, c := range g.credentials {
		if !slices.Contains(required, c.required) {
			required = append(required, c.required)
		}
	}
	hint := ""
	if len(skipped) > 0 {
		slices.Sort(skipped)
		hint = fmt.Sprintf("; the path names source %q, and credentials for %s were not tried",
			cutBytes(source, maxQuoted), strings.Join(slices.Compact(skipped), ", "))
	}
	return errorf(unauthorized, "channel %q needs a credential: send %s%s", g.channel, strings.Join(required, ", or "), hint)
}
