package server

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // signature version 1 of Amazon SNS is made with it
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// sns verifies the messages of Amazon SNS
// (https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html). It asks nobody but Amazon for the
// certificate, whatever a message says.
type sns struct {
	client *http.Client
	host   *regexp.Regexp // of Amazon SNS

	mu           sync.Mutex
	certificates map[string]*x509.Certificate // by their address
}

// Bounds of what is asked of Amazon, and kept.
const (
	snsTimeout         = 3 * time.Second
	maxSNSAnswer       = 64 << 10
	maxSNSCertificates = 16
)

var snsHost = regexp.MustCompile(`^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(\.cn)?$`)

func newSNS(transport http.RoundTripper) *sns {
	return &sns{
		host: snsHost, certificates: map[string]*x509.Certificate{},
		client: &http.Client{
			Transport: transport, Timeout: snsTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// snsMessage is the envelope of a message. Its names are matched letter for letter, as decoding does: what was signed and
// what is read must be the same.
type snsMessage map[string]json.RawMessage

// field is a text of the envelope; ok is false where it is missing or null.
func (m snsMessage) field(name string) (text string, ok bool) {
	var value *string
	if json.Unmarshal(m[name], &value) != nil || value == nil {
		return "", false
	}
	return *value, true
}

func (m snsMessage) text(name string) string {
	text, _ := m.field(name)
	return text
}

// trial makes the check of a credential: a signature of Amazon, under a message of one of its topics.
func (n *sns) trial(c Credential) func(a attempt) bool {
	return func(a attempt) bool {
		var m snsMessage
		if json.Unmarshal(a.wire, &m) != nil || !slices.Contains(c.Topics, m.text("TopicArn")) {
			return false
		}
		ctx := a.request.Context()
		if n.verify(ctx, m, a.now) != nil {
			return false
		}
		if c.Confirm && m.text("Type") == "SubscriptionConfirmation" {
			return n.confirm(ctx, m) == nil
		}
		return true
	}
}

// signedText is what is signed: names and values, each on a line.
func (m snsMessage) signedText() string {
	names := []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	if m.text("Type") == "Notification" {
		names = []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	}
	var b strings.Builder
	for _, name := range names {
		if value, ok := m.field(name); ok || name != "Subject" {
			b.WriteString(name + "\n" + value + "\n")
		}
	}
	return b.String()
}

func (n *sns) verify(ctx context.Context, m snsMessage, now time.Time) error {
	signature, err := base64.StdEncoding.DecodeString(m.text("Signature"))
	if err != nil {
		return fmt.Errorf("decode the signature: %w", err)
	}
	certificate, err := n.certificate(ctx, m.text("SigningCertURL"))
	if err != nil {
		return err
	}
	if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return errors.New("the certificate is not valid now")
	}
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	if !ok {
		return errors.New("the certificate holds no RSA key")
	}
	switch text := []byte(m.signedText()); m.text("SignatureVersion") {
	case "1":
		sum := sha1.Sum(text) //nolint:gosec // as Amazon made it
		err = rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature)
	case "2":
		sum := sha256.Sum256(text)
		err = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	default:
		err = fmt.Errorf("its version %q is unknown", m.text("SignatureVersion"))
	}
	if err != nil {
		return fmt.Errorf("verify the signature: %w", err)
	}
	return nil
}

// certificate asks Amazon for a certificate, once.
func (n *sns) certificate(ctx context.Context, address string) (*x509.Certificate, error) {
	if !n.isAmazon(address, ".pem") {
		return nil, errors.New("the certificate is not at Amazon SNS")
	}
	n.mu.Lock()
	known := n.certificates[address]
	n.mu.Unlock()
	if known != nil {
		return known, nil
	}
	answer, err := n.get(ctx, address)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(answer)
	if block == nil {
		return nil, errors.New("Amazon's answer holds no certificate") //nolint:staticcheck // a name
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.certificates) >= maxSNSCertificates {
		clear(n.certificates)
	}
	n.certificates[address] = certificate
	return certificate, nil
}

// confirm opens the link by which a subscription is confirmed.
func (n *sns) confirm(ctx context.Context, m snsMessage) error {
	if !n.isAmazon(m.text("SubscribeURL"), "") {
		return errors.New("the link is not at Amazon SNS")
	}
	answer, err := n.get(ctx, m.text("SubscribeURL"))
	if err == nil && !bytes.Contains(answer, []byte("SubscriptionArn")) {
		err = errors.New("Amazon did not confirm") //nolint:staticcheck // a name
	}
	return err
}

// isAmazon tells an address of Amazon SNS: https, on its own host and port, with nothing before the host.
func (n *sns) isAmazon(address, suffix string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.User == nil && n.host.MatchString(u.Host) && strings.HasSuffix(u.Path, suffix)
}

func (n *sns) get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, snsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	response, err := n.client.Do(request)
	if err != nil {
		return nil, errors.New("Amazon SNS did not answer") //nolint:staticcheck // a name; the error may hold the token
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("Amazon SNS answered %d", response.StatusCode) //nolint:staticcheck // a name
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxSNSAnswer))
	if err != nil {
		return nil, errors.New("Amazon's answer ended early") //nolint:staticcheck // a name
	}
	return answer, nil
}
