package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
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

// authenticate says who sends: the name of the credential, or the remote address where none is asked for.
func (s *Server) authenticate(r *http.Request, channel string) (sender string, err error) {
	want, ok := s.tokens[channel]
	switch {
	case !ok:
		return "", errorf(unknownChannel, "no channel is called %q", channel)
	case !want.set:
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr, nil //nolint:nilerr // not an address of the network; it names the sender all the same
		}
		return host, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || !want.is(strings.TrimSpace(token)) {
		return "", errorf(unauthorized, "channel %q needs its ingress token: send the header Authorization: Bearer <token>", channel)
	}
	return defaultSender, nil
}
