package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"
)

// tokenDigest stands for a token, so that comparing takes the same time whatever its length.
type tokenDigest struct {
	sum [sha256.Size]byte
	set bool
}

func digest(token string) tokenDigest {
	return tokenDigest{sum: sha256.Sum256([]byte(token)), set: token != ""}
}

// is compares a token in constant time. Nothing is the token that is not set.
func (d tokenDigest) is(token string) bool {
	got := digest(token)
	return subtle.ConstantTimeCompare(got.sum[:], d.sum[:]) == 1 && d.set
}

// defaultSender is the name of whoever presents a channel's ingress token.
const defaultSender = "default"

// door is how one gets into a channel.
type door struct {
	credentials []credential // any of which opens it, the channel's token among them
	allowed     addressList  // empty = from anywhere
	signed      bool         // a credential is a signature of the body, which must be read first
}

// credential is one of a channel's, ready to be tried.
type credential struct {
	name, source, asks string
	try                func(a attempt) bool
}

// attempt is a request that wants in.
type attempt struct {
	request *http.Request
	wire    []byte // the body as it came
	token   string // that the sender presents elsewhere than in the header, as tools do that speak Slack
	now     time.Time
}

func newDoor(ch Channel, s *Server) door {
	d := door{allowed: ch.AllowFrom}
	all := ch.Credentials
	if ch.IngressToken != "" {
		all = append([]Credential{{Name: defaultSender, Kind: "bearer", Secret: ch.IngressToken}}, all...)
	}
	for _, c := range all {
		d.signed = d.signed || c.signs()
		d.credentials = append(d.credentials, credential{name: c.Name, source: c.Source, asks: c.asks(), try: s.trial(c)})
	}
	return d
}

// open finds the door of a channel, for who comes from an address that it admits.
func (s *Server) open(r *http.Request, channel string) (door, error) {
	d, ok := s.doors[channel]
	if !ok {
		return door{}, errorf(unknownChannel, "no channel is called %q", channel)
	}
	if len(d.credentials) == 0 && byPage(r) {
		return door{}, errorf(forbidden, "channel %q asks for no credential, so it takes nothing that a page in a browser sends (Origin, Sec-Fetch-Site); set ingress_token", channel)
	}
	if address := s.proxies.client(r); len(d.allowed) > 0 && !d.allowed.has(address) {
		return door{}, errorf(forbidden, "channel %q does not take webhooks from %s; see its allow_from, and trusted_proxies where a proxy stands before the relay", channel, address)
	}
	return d, nil
}

// authenticate says who sends: the name of the credential, or the remote address where none is asked for. source is the
// name of the body format where the sender named it.
func (s *Server) authenticate(d door, channel, source string, a attempt) (credential, error) {
	if len(d.credentials) == 0 {
		s.known(a.request, true)
		return credential{name: s.proxies.client(a.request).String()}, nil
	}
	for _, c := range d.credentials {
		if (source == "" || c.source == "" || c.source == source) && c.try(a) {
			s.known(a.request, false)
			return c, nil
		}
	}
	asked := make([]string, 0, len(d.credentials))
	for _, c := range d.credentials {
		if !slices.Contains(asked, c.asks) {
			asked = append(asked, c.asks)
		}
	}
	return credential{}, errorf(unauthorized, "channel %q needs a credential: send %s", channel, strings.Join(asked, ", or "))
}
