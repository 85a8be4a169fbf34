package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// tokenDigest is the hash of a token, so that a comparison takes the same time whatever the length of the token.
type tokenDigest struct {
	sum [sha256.Size]byte
	set bool
}

func digest(token string) tokenDigest {
	return tokenDigest{sum: sha256.Sum256([]byte(token)), set: token != ""}
}

// equals compares a token in constant time. The digest of "" equals no token.
func (d tokenDigest) equals(token string) bool {
	got := digest(token)
	return subtle.ConstantTimeCompare(got.sum[:], d.sum[:]) == 1 && d.set
}

// verifier returns the check of a credential. Every comparison of a secret takes the same time whatever is presented.
func (s *Server) verifier(c Credential) verifier {
	switch {
	case c.Kind == "sns":
		return s.sns.verifier(c)
	case c.Kind == "standard":
		return c.withDefaults().verifyStandard
	case c.signsBody():
		return c.withDefaults().verifyHMAC
	}
	presented := c.presented()
	return func(in *ingestRequest) (proof, error) {
		if presented(in) {
			return proof{}, nil
		}
		return proof{}, errRefused
	}
}

// presented returns the check of a credential that signs nothing: whether a request presents the secret or the certificate.
func (c Credential) presented() func(in *ingestRequest) bool {
	secret := digest(c.Secret)
	switch {
	case c.Kind == "bearer":
		return func(in *ingestRequest) bool { return secret.equals(cmp.Or(in.token, bearer(in.r))) }
	case c.Kind == "basic":
		username := digest(c.Username)
		return func(in *ingestRequest) bool {
			name, password, ok := in.r.BasicAuth()
			nameOK := username.equals(name)
			passwordOK := secret.equals(password)
			return ok && nameOK && passwordOK
		}
	case c.Kind == "header" || headers[c.Kind] != "":
		header := c.withDefaults().Header
		return func(in *ingestRequest) bool { return secret.equals(in.r.Header.Get(header)) }
	case c.Kind == "url":
		return func(in *ingestRequest) bool {
			return secret.equals(in.token) || secret.equals(in.r.URL.Query().Get("token"))
		}
	default:
		return c.hasCertificate
	}
}

// hasCertificate reports whether a request has a client certificate that the listener verified and that names a subject of the
// credential.
func (c Credential) hasCertificate(in *ingestRequest) bool {
	if in.r.TLS == nil || len(in.r.TLS.VerifiedChains) == 0 {
		return false
	}
	certificate := in.r.TLS.PeerCertificates[0]
	names := append([]string{certificate.Subject.CommonName}, certificate.DNSNames...)
	names = append(names, certificate.EmailAddresses...)
	for _, uri := range certificate.URIs {
		names = append(names, uri.String())
	}
	return len(c.Subjects) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.Subjects, name) })
}

// bearer returns the token of the header Authorization; "" = none.
func bearer(r *http.Request) string { return schemeToken(r, "Bearer") }

// schemeToken returns the token of the header Authorization with this scheme; "" = none.
func schemeToken(r *http.Request, scheme string) string {
	presented, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(presented, scheme) {
		return ""
	}
	return strings.TrimSpace(token)
}
