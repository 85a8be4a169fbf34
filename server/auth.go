package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	signs              bool // the body must be read first
	try                func(a attempt) (proof, error)

	proof proof  // what was shown, once it was let in
	scope string // what its ids are told apart by; "" = it is the only one
}

// proof is what a sender showed that signs.
type proof struct {
	signed string // stands for all that was signed: the same when the same is sent again; "" = nothing was
	body   []byte // all that was signed, where that is not the body as it came
}

// Why a credential does not open the door.
var (
	errRefused    = errors.New("not verified")
	errCannotTell = errors.New("cannot be verified now")
)

// shown makes a trial of a check that finds a secret or does not.
func shown(is func(a attempt) bool) func(a attempt) (proof, error) {
	return func(a attempt) (proof, error) {
		if is(a) {
			return proof{}, nil
		}
		return proof{}, errRefused
	}
}

// attempt is a request that wants in.
type attempt struct {
	request *http.Request
	wire    []byte // the body as it came
	unread  bool   // it was not read yet, so that no signature can be tried
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
		d.credentials = append(d.credentials, credential{name: c.Name, source: c.source(), asks: c.asks(), signs: c.signs(), try: s.trial(c)})
	}
	if len(all) > 1 {
		for i := range d.credentials {
			d.credentials[i].scope = ch.Name + "/" + d.credentials[i].name
		}
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
		return door{}, errorf(forbidden, "channel %q has no credential, so it refuses requests from a page in a browser (Origin, Sec-Fetch-Site); set ingress_token", channel)
	}
	address := s.proxies.client(r)
	from := address.String()
	if address.Zone() == nobodyZone {
		s.sayUnread(r, channel)
		from = "an unreadable address in X-Forwarded-For"
	}
	if len(d.allowed) > 0 && !d.allowed.has(address) {
		return door{}, errorf(forbidden, "channel %q does not accept webhooks from %s; check its allow_from, and trusted_proxies if the relay is behind a proxy", channel, from)
	}
	return d, nil
}

// authenticate says who sends: the name of the credential, or the remote address where none is asked for. source is the
// name of the body format where the sender named it.
func (s *Server) authenticate(d door, channel, source string, a attempt) (credential, error) {
	if len(d.credentials) == 0 {
		s.known(a.request, true)
		return credential{name: senderAt(s.proxies.client(a.request))}, nil
	}
	var elsewhere []string
	cannotTell := false
	for _, c := range d.credentials {
		if c.signs && a.unread {
			continue
		}
		if source != "" && c.source != "" && c.source != source {
			elsewhere = append(elsewhere, c.source)
			continue
		}
		var err error
		if c.proof, err = c.try(a); err == nil {
			s.known(a.request, false)
			return c, nil
		}
		cannotTell = cannotTell || errors.Is(err, errCannotTell)
	}
	if cannotTell {
		return credential{}, errorf(unavailable, "channel %q cannot check the signature now; send the request again", channel)
	}
	return credential{}, d.refusal(channel, source, elsewhere)
}

// refusal says what a channel asks for. elsewhere are the sources of credentials that were not tried, since the path names
// another one.
func (d door) refusal(channel, source string, elsewhere []string) error {
	asked := make([]string, 0, len(d.credentials))
	for _, c := range d.credentials {
		if !slices.Contains(asked, c.asks) {
			asked = append(asked, c.asks)
		}
	}
	hint := ""
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		hint = fmt.Sprintf("; the path names source %s, and credentials for %s were not tried", shortened(source), strings.Join(slices.Compact(elsewhere), ", "))
	}
	return errorf(unauthorized, "channel %q needs a credential: send %s%s", channel, strings.Join(asked, ", or "), hint)
}

// maxSaid is how much of what a sender wrote is said back.
const maxSaid = 100

func shortened(text string) string {
	return strconv.Quote(text[:min(len(text), maxSaid)])
}
