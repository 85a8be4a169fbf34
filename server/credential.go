package server

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Credential is one way for a sender to show who it is. Its name is what its events call their sender.
type Credential struct {
	Name   string
	Kind   string // one of [CredentialKinds]
	Source string // it is good for this body format only; "" = for any
	Secret string // the token, password or key
	// Username is that of kind basic.
	Username string
	// Header is where kind header looks for the secret, and kind hmac for the signature. Kinds of one provider know theirs;
	// it is for those whose users may choose another.
	Header string
	// Algorithm is sha256, sha1 or sha512, Encoding hex or base64, and Prefix stands before the signature, for kind hmac.
	Algorithm, Encoding, Prefix string
	// TimestampHeader is where a signed time stands, in Unix seconds, for kinds hmac and grafana; the signature is of the
	// time, ":" and the body then. "" = the body alone is signed.
	TimestampHeader string
	// Tolerance is how far a signed time may be off. Default 5 min.
	Tolerance time.Duration
	// Topics are the ARNs that kind sns takes messages of; Confirm opens the link that SNS asks to have opened.
	Topics  []string
	Confirm bool
	// Subjects are the names (common name, DNS, URI or e-mail address) that kind mtls takes; empty = any certificate that
	// the listener's authority signed.
	Subjects []string
}

// DefaultTolerance is how far a signed time may be off.
const DefaultTolerance = 5 * time.Minute

// CredentialKinds are the ways for a sender to show who it is.
func CredentialKinds() []string {
	kinds := []string{"bearer", "basic", "header", "url", "hmac", "standard", "sns", "mtls"}
	kinds = slices.AppendSeq(kinds, maps.Keys(signatures))
	kinds = slices.AppendSeq(kinds, maps.Keys(headers))
	slices.Sort(kinds)
	return kinds
}

// signatures are the kinds whose header holds an HMAC of the body, as their providers define them.
var signatures = map[string]Credential{
	"github":    {Header: "X-Hub-Signature-256", Prefix: "sha256="}, // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
	"gitea":     {Header: "X-Gitea-Signature"},                      // https://docs.gitea.com/usage/webhooks
	"bitbucket": {Header: "X-Hub-Signature", Prefix: "sha256="},     // https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
	"grafana":   {Header: "X-Grafana-Alerting-Signature"},           // https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
	"sentry":    {Header: "Sentry-Hook-Signature"},                  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
	"pagerduty": {Header: "X-Pagerduty-Signature", Prefix: "v1="},   // https://developer.pagerduty.com/docs/verifying-webhook-signatures
}

// source is the only body format that a credential is good for: that of its kind where it has one; "" = any.
func (c Credential) source() string {
	_, ofProvider := signatures[c.Kind]
	if c.Source == "" && (ofProvider || c.Kind == "sns") {
		return c.Kind
	}
	return c.Source
}

// headers are the kinds whose header holds the secret itself.
var headers = map[string]string{"gitlab": "X-Gitlab-Token"}

// Check says what is wrong with a credential, with the field named.
func (c Credential) Check() error {
	_, signed := signatures[c.Kind]
	switch {
	case !slices.Contains(CredentialKinds(), c.Kind):
		return fmt.Errorf("kind is %q; it must be %s", c.Kind, strings.Join(CredentialKinds(), ", "))
	case c.Name == "":
		return errors.New("name is needed: it is what events call their sender")
	case strings.TrimSpace(c.Secret) == "" && c.Kind != "sns" && c.Kind != "mtls":
		return errors.New("secret, or secret_file, is needed")
	case c.Kind == "basic" && c.Username == "":
		return errors.New("username is needed for kind basic")
	case (c.Kind == "header" || c.Kind == "hmac") && c.Header == "":
		return fmt.Errorf("header is needed for kind %s", c.Kind)
	case c.Kind == "sns" && len(c.Topics) == 0:
		return errors.New("topics are needed for kind sns: anybody can have Amazon sign messages of a topic of their own")
	case c.Kind == "sns":
		return c.checkSNS()
	case c.Kind == "standard":
		switch key, err := standardKey(c.Secret); {
		case err != nil:
			return errors.New("secret must be whsec_ and base64, as Standard Webhooks have it")
		case len(key) < minStandardKey:
			return fmt.Errorf("secret holds a key of %d bytes; Standard Webhooks require %d or more", len(key), minStandardKey)
		}
	case signed, c.Kind == "hmac":
		return c.checkSignature()
	}
	return nil
}

// minStandardKey is the shortest key that Standard Webhooks allow, in bytes.
const minStandardKey = 24

func (c Credential) checkSNS() error {
	if c.source() != "sns" {
		return fmt.Errorf("source is %q; it must be sns, or empty, for kind sns", c.Source)
	}
	for _, topic := range c.Topics {
		if snsRegion(topic) == "" {
			return fmt.Errorf("topics has %q; write the ARN of a topic, like arn:aws:sns:eu-west-1:123456789012:alarms", topic)
		}
	}
	return nil
}

func (c Credential) checkSignature() error {
	switch {
	case hashes[c.algorithm()] == nil:
		return fmt.Errorf("algorithm is %q; it must be sha256, sha512 or sha1", c.Algorithm)
	case c.Encoding != "" && c.Encoding != "hex" && c.Encoding != "base64":
		return fmt.Errorf("encoding is %q; it must be hex or base64", c.Encoding)
	case c.Tolerance < 0:
		return fmt.Errorf("tolerance is %s; it must not be negative", c.Tolerance)
	}
	return nil
}

func (c Credential) algorithm() string {
	if c.Algorithm == "" {
		return "sha256"
	}
	return c.Algorithm
}

// asks says what a sender must send, without a secret in it.
func (c Credential) asks() string {
	switch {
	case c.Kind == "bearer" && c.Name == defaultSender:
		return "its ingress token in the header Authorization: Bearer <token>"
	case c.Kind == "bearer":
		return "a token in the header Authorization: Bearer <token>"
	case c.Kind == "basic":
		return "a name and password in the header Authorization: Basic <...>"
	case c.Kind == "header":
		return "a token in the header " + c.Header
	case headers[c.Kind] != "":
		return "a token in the header " + headers[c.Kind]
	case c.Kind == "url":
		return "a token in the address, ?token=<token>"
	case c.Kind == "mtls":
		return "a client certificate"
	case c.Kind == "sns":
		return "a message that Amazon SNS signed, of a topic that is listed"
	case c.Kind == "standard":
		return "a signature in the header Webhook-Signature"
	default:
		return "a signature in the header " + c.withDefaults().Header
	}
}

// withDefaults fills in what the provider defines.
func (c Credential) withDefaults() Credential {
	if preset, ok := signatures[c.Kind]; ok {
		if c.Header == "" {
			c.Header = preset.Header
		}
		c.Prefix = preset.Prefix
	}
	if c.Tolerance == 0 {
		c.Tolerance = DefaultTolerance
	}
	return c
}

// trial makes the check of a credential. All comparisons of secrets take the same time whatever is compared.
func (s *Server) trial(c Credential) func(a attempt) (proof, error) {
	switch {
	case c.Kind == "sns":
		return s.sns.trial(c)
	case c.Kind == "standard":
		return c.withDefaults().standard
	case c.signs():
		return c.withDefaults().signed
	}
	return shown(c.shows())
}

// shows makes the check of a credential that is a secret, or a certificate.
func (c Credential) shows() func(a attempt) bool {
	secret := digest(c.Secret)
	switch {
	case c.Kind == "bearer":
		return func(a attempt) bool { return secret.is(a.bearer()) }
	case c.Kind == "basic":
		username := digest(c.Username)
		return func(a attempt) bool {
			name, password, ok := a.request.BasicAuth()
			named, known := username.is(name), secret.is(password)
			return ok && named && known
		}
	case c.Kind == "header":
		return func(a attempt) bool { return secret.is(a.request.Header.Get(c.Header)) }
	case headers[c.Kind] != "":
		return func(a attempt) bool { return secret.is(a.request.Header.Get(headers[c.Kind])) }
	case c.Kind == "url":
		return func(a attempt) bool { return secret.is(a.token) || secret.is(a.request.URL.Query().Get("token")) }
	default:
		return c.certified
	}
}

// signs tells whether the body must be read to check a credential.
func (c Credential) signs() bool {
	_, preset := signatures[c.Kind]
	return preset || c.Kind == "hmac" || c.Kind == "standard" || c.Kind == "sns"
}

// bearer is the token that a sender presents.
func (a attempt) bearer() string {
	if a.token != "" {
		return a.token
	}
	return bearer(a.request)
}

// bearer is the token of the header Authorization; "" = none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
