package server

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/singleflight"
)

// snsCertificates fetches and caches the certificates that Amazon SNS signs with. A message names its certificate before its sender
// is authenticated, so requests to Amazon are bounded: one at a time for each address, no retry of a refused one for a while, and
// a rate over all.
type snsCertificates struct {
	client *http.Client
	roots  *x509.CertPool // nil = the system's

	flights singleflight.Group
	mu      sync.Mutex
	known   map[string]snsCertificate // by address; also the confirmation links that were opened
	tokens  float64                   // requests that may be sent now
	refill  time.Time                 // of tokens
}

// snsCertificate is a key, or why there is none, and for which time that is valid.
type snsCertificate struct {
	key   *rsa.PublicKey
	err   error
	from  time.Time
	until time.Time
}

// Bounds of the requests to Amazon and of the cache.
const (
	snsTimeout    = 3 * time.Second
	maxSNSAnswer  = 64 << 10
	maxSNSKnown   = 64
	snsBurst      = 10 // requests at once; then one each second
	snsRefusedFor = time.Minute
	snsFailedFor  = 5 * time.Second
)

func newSNSCertificates(transport http.RoundTripper, roots *x509.CertPool) *snsCertificates {
	return &snsCertificates{
		roots: roots, known: map[string]snsCertificate{}, tokens: snsBurst,
		client: &http.Client{
			Transport: transport, Timeout: snsTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

var snsFile = regexp.MustCompile(`^/SimpleNotificationService-[0-9a-f]{32}\.pem$`)

// key returns the key of the certificate at an address of Amazon SNS in a region.
func (n *snsCertificates) key(ctx context.Context, region, address string, now time.Time) (*rsa.PublicKey, error) {
	path, ok := strings.CutPrefix(address, "https://"+snsHost(region))
	if !ok || !snsFile.MatchString(path) {
		return nil, fmt.Errorf("%w: its SigningCertURL does not point to Amazon SNS in the topic's region", errRefused)
	}
	if known, ok := n.find(address, now); ok {
		return known.key, known.err
	}
	found, err, _ := n.flights.Do(address, func() (any, error) {
		if known, ok := n.find(address, now); ok { // fetched while this call waited
			return known, nil
		}
		return n.fetch(context.WithoutCancel(ctx), region, address, now), nil
	})
	certificate, ok := found.(snsCertificate)
	if err != nil || !ok {
		return nil, errUndecided
	}
	return certificate.key, certificate.err
}

func (n *snsCertificates) find(address string, now time.Time) (snsCertificate, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.known[address]
	return known, ok && !now.Before(known.from) && now.Before(known.until)
}

// fetch requests a certificate from Amazon, and caches the result or the error.
func (n *snsCertificates) fetch(ctx context.Context, region, address string, now time.Time) snsCertificate {
	leaf, err := n.fetchVerified(ctx, region, address, now)
	known := snsCertificate{err: err, until: now.Add(snsRefusedFor)}
	switch {
	case errors.Is(err, errUndecided):
		known.until = now.Add(snsFailedFor)
	case err == nil:
		key, ok := leaf.PublicKey.(*rsa.PublicKey)
		if ok {
			known = snsCertificate{key: key, from: leaf.NotBefore, until: leaf.NotAfter}
		} else {
			known.err = fmt.Errorf("%w: the certificate contains no RSA key", errRefused)
		}
	}
	n.store(address, known)
	return known
}

func (n *snsCertificates) store(address string, known snsCertificate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxSNSKnown {
		maps.DeleteFunc(n.known, func(_ string, c snsCertificate) bool { return c.err != nil })
	}
	if len(n.known) >= maxSNSKnown {
		clear(n.known)
	}
	n.known[address] = known
}

// fetchVerified fetches a certificate of Amazon SNS, and verifies that its chain ends at a trusted authority.
func (n *snsCertificates) fetchVerified(ctx context.Context, region, address string, now time.Time) (*x509.Certificate, error) {
	answer, err := n.get(ctx, address)
	if err != nil {
		return nil, err
	}
	all, err := parseCertificates(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	intermediates := x509.NewCertPool()
	for _, one := range all[1:] {
		intermediates.AddCert(one)
	}
	leaf := all[0]
	err = n.verifyChain(leaf, intermediates, region, now)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		issuer, fetchErr := n.issuer(ctx, leaf)
		if fetchErr != nil {
			return nil, fetchErr
		}
		intermediates.AddCert(issuer)
		err = n.verifyChain(leaf, intermediates, region, now)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the certificate: %w", errRefused, err)
	}
	return leaf, nil
}

// verifyChain verifies the chain, the validity time and the name of a certificate.
func (n *snsCertificates) verifyChain(leaf *x509.Certificate, intermediates *x509.CertPool, region string, now time.Time) error {
	hostname := ""
	for _, name := range snsNames(region) {
		if leaf.VerifyHostname(name) == nil {
			hostname = name
		}
	}
	if hostname == "" {
		return errors.New("its name does not belong to Amazon SNS")
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: hostname, Roots: n.roots, Intermediates: intermediates, CurrentTime: now})
	return err //nolint:wrapcheck // the caller checks its type
}

// issuers matches where the authorities that sign for Amazon publish their certificates.
var issuers = regexp.MustCompile(`^https?://(?:crt\.[a-z0-9-]+\.amazontrust\.com|cacerts\.digicert\.com)/[A-Za-z0-9_-]+\.(?:cer|crt)$`)

// issuer fetches the certificate of the authority that signed another one. Amazon's file contains the leaf alone.
func (n *snsCertificates) issuer(ctx context.Context, leaf *x509.Certificate) (*x509.Certificate, error) {
	for _, address := range leaf.IssuingCertificateURL {
		if !issuers.MatchString(address) {
			continue
		}
		answer, err := n.get(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("fetch the certificate of its authority: %w", err)
		}
		issuer, err := x509.ParseCertificate(answer)
		if err != nil {
			return nil, fmt.Errorf("%w: read the certificate of its authority: %w", errRefused, err)
		}
		return issuer, nil
	}
	return nil, fmt.Errorf("%w: the certificate's authority is unknown", errRefused)
}

// parseCertificates parses PEM that contains certificates and nothing else; anything else is not Amazon's file.
func parseCertificates(answer []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := answer; len(bytes.TrimSpace(rest)) > 0; {
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("the answer is not a certificate")
		}
		if !bytes.Equal(withoutSpace(pem.EncodeToMemory(block)), withoutSpace(rest[:len(rest)-len(after)])) {
			return nil, errors.New("the answer is not a certificate")
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		all = append(all, one)
		rest = after
	}
	if len(all) == 0 {
		return nil, errors.New("the answer is empty")
	}
	return all, nil
}

// withoutSpace returns a text without its white space.
func withoutSpace(text []byte) []byte {
	return bytes.Join(bytes.FieldsFunc(text, unicode.IsSpace), nil)
}
