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

// snsCertificates are the certificates that Amazon SNS signs with. Anybody may name one, so that what is asked of Amazon is
// bounded: each once at a time, what was refused not again for a while, and so many requests a second over all.
type snsCertificates struct {
	client *http.Client
	roots  *x509.CertPool // nil = the system's

	flights singleflight.Group
	mu      sync.Mutex
	known   map[string]snsCertificate // by their address; and the links that were opened
	left    float64                   // requests that may be made now
	since   time.Time
}

// snsCertificate is a key, or why there is none, and until when that is so.
type snsCertificate struct {
	key   *rsa.PublicKey
	err   error
	from  time.Time
	until time.Time
}

// Bounds of what is asked of Amazon, and kept.
const (
	snsTimeout    = 3 * time.Second
	maxSNSAnswer  = 64 << 10
	maxSNSKnown   = 64
	snsBurst      = 10 // requests at once; then one more each second
	snsRefusedFor = time.Minute
	snsFailedFor  = 5 * time.Second
)

func newSNSCertificates(transport http.RoundTripper, roots *x509.CertPool) *snsCertificates {
	return &snsCertificates{
		roots: roots, known: map[string]snsCertificate{}, left: snsBurst,
		client: &http.Client{
			Transport: transport, Timeout: snsTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

var snsFile = regexp.MustCompile(`^/SimpleNotificationService-[0-9a-f]{32}\.pem$`)

// key is that of the certificate at an address of Amazon SNS in a region.
func (n *snsCertificates) key(ctx context.Context, region, address string, now time.Time) (*rsa.PublicKey, error) {
	path, ok := strings.CutPrefix(address, "https://"+snsHost(region))
	if !ok || !snsFile.MatchString(path) {
		return nil, fmt.Errorf("%w: its SigningCertURL does not point to Amazon SNS in the topic's region", errRefused)
	}
	if known, ok := n.find(address, now); ok {
		return known.key, known.err
	}
	found, err, _ := n.flights.Do(address, func() (any, error) {
		if known, ok := n.find(address, now); ok { // it came while this one waited
			return known, nil
		}
		return n.fetch(context.WithoutCancel(ctx), region, address, now), nil
	})
	certificate, ok := found.(snsCertificate)
	if err != nil || !ok {
		return nil, errCannotTell
	}
	return certificate.key, certificate.err
}

func (n *snsCertificates) find(address string, now time.Time) (snsCertificate, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.known[address]
	return known, ok && !now.Before(known.from) && now.Before(known.until)
}

// fetch asks Amazon for a certificate, and keeps what came of it.
func (n *snsCertificates) fetch(ctx context.Context, region, address string, now time.Time) snsCertificate {
	leaf, err := n.verified(ctx, region, address, now)
	known := snsCertificate{err: err, until: now.Add(snsRefusedFor)}
	switch {
	case errors.Is(err, errCannotTell):
		known.until = now.Add(snsFailedFor)
	case err == nil:
		key, ok := leaf.PublicKey.(*rsa.PublicKey)
		if ok {
			known = snsCertificate{key: key, from: leaf.NotBefore, until: leaf.NotAfter}
		} else {
			known.err = fmt.Errorf("%w: the certificate contains no RSA key", errRefused)
		}
	}
	n.keep(address, known)
	return known
}

func (n *snsCertificates) keep(address string, known snsCertificate) {
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

// verified is a certificate of Amazon SNS whose chain ends at an authority of the system.
func (n *snsCertificates) verified(ctx context.Context, region, address string, now time.Time) (*x509.Certificate, error) {
	answer, err := n.get(ctx, address)
	if err != nil {
		return nil, err
	}
	all, err := certificatesIn(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	between := x509.NewCertPool()
	for _, one := range all[1:] {
		between.AddCert(one)
	}
	leaf := all[0]
	err = n.chained(leaf, between, region, now)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		issuer, fetchErr := n.issuer(ctx, leaf)
		if fetchErr != nil {
			return nil, fetchErr
		}
		between.AddCert(issuer)
		err = n.chained(leaf, between, region, now)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the certificate: %w", errRefused, err)
	}
	return leaf, nil
}

// chained verifies a certificate: its chain, its time, and that it is one of Amazon SNS.
func (n *snsCertificates) chained(leaf *x509.Certificate, between *x509.CertPool, region string, now time.Time) error {
	named := ""
	for _, name := range snsNames(region) {
		if leaf.VerifyHostname(name) == nil {
			named = name
		}
	}
	if named == "" {
		return errors.New("its name does not belong to Amazon SNS")
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: named, Roots: n.roots, Intermediates: between, CurrentTime: now})
	return err //nolint:wrapcheck // told apart by its kind
}

// issuers is where the authorities that sign for Amazon have their own certificates.
var issuers = regexp.MustCompile(`^https?://(?:crt\.[a-z0-9-]+\.amazontrust\.com|cacerts\.digicert\.com)/[A-Za-z0-9_-]+\.(?:cer|crt)$`)

// issuer asks for the certificate of the authority that signed another. Amazon's file has that of the signer only.
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

// certificatesIn reads certificates in PEM, and nothing else: an answer in which one is hidden is not Amazon's file.
func certificatesIn(answer []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := answer; len(bytes.TrimSpace(rest)) > 0; {
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "CERTIFICATE" || !bytes.Equal(letters(pem.EncodeToMemory(block)), letters(rest[:len(rest)-len(after)])) {
			return nil, errors.New("the answer is not a certificate")
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		all, rest = append(all, one), after
	}
	if len(all) == 0 {
		return nil, errors.New("the answer is empty")
	}
	return all, nil
}

// letters is a text without the white space.
func letters(text []byte) []byte {
	return bytes.Join(bytes.FieldsFunc(text, unicode.IsSpace), nil)
}
