package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Credential authenticates one sender of a channel. Events name their sender by the name of its credential. Which fields are
// needed depends on the kind; Check names those that are missing:
//
//	server.Credential{Name: "ci", Kind: "bearer", Secret: token}
//	server.Credential{Name: "builds", Kind: "hmac", Secret: key, Header: "X-Signature", Prefix: "sha256="}
type Credential struct {
	Name   string
	Kind   string // one of CredentialKinds
	Source string // the only body format that the credential is valid for; "" = that of the provider, or any
	Secret string // the token, password or key
	// Username is needed by kind basic.
	Username string
	// Header contains the secret (kind header) or the signature (kind hmac). Kinds of a provider have a default.
	Header string
	// Algorithm is sha256, sha1 or sha512, for kind hmac. Default: sha256.
	Algorithm string
	// Encoding of the signature is hex or base64, for kind hmac. Default: hex.
	Encoding string
	// Prefix precedes the signature in the header, for kind hmac. Default: "".
	Prefix string
	// TimestampHeader contains a time in Unix seconds, for kinds hmac and grafana. The signature then covers the time, ":" and
	// the body. Default: "", the body alone is signed.
	TimestampHeader string
	// Tolerance is how far a signed time may differ from now. Default: [DefaultTolerance].
	Tolerance time.Duration
	// Topics are the ARNs whose messages kind sns accepts.
	Topics []string
	// Confirm confirms subscriptions to Topics automatically, for kind sns. Default: false.
	Confirm bool
	// Subjects are the names in a client certificate (common name, DNS name, URI or e-mail address) that kind mtls accepts.
	// Default: any certificate that the listener's authority signed.
	Subjects []string
	// Silences lets the sender make and end silences of the channel, with Alertmanager's API. Default: false.
	Silences bool
}

// DefaultTolerance is the default of Credential.Tolerance.
const DefaultTolerance = 5 * time.Minute

// CredentialKinds returns the valid kinds, sorted.
func CredentialKinds() []string {
	kinds := []string{"bearer", "basic", "header", "url", "hmac", "standard", "sns", "mtls"}
	kinds = slices.AppendSeq(kinds, maps.Keys(signatures))
	kinds = slices.AppendSeq(kinds, maps.Keys(headers))
	slices.Sort(kinds)
	return kinds
}

// signatures are the kinds whose header contains an HMAC of the body, as their providers define them:
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
// https://docs.gitea.com/usage/webhooks
// https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
// https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
// https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
// https://developer.pagerduty.com/docs/verifying-webhook-signatures
var signatures = map[string]Credential{
	"github":    {Header: "X-Hub-Signature-256", Prefix: "sha256="},
	"gitea":     {Header: "X-Gitea-Signature"},
	"bitbucket": {Header: "X-Hub-Signature", Prefix: "sha256="},
	"grafana":   {Header: "X-Grafana-Alerting-Signature"},
	"sentry":    {Header: "Sentry-Hook-Signature"},
	"pagerduty": {Header: "X-Pagerduty-Signature", Prefix: "v1="},
}

// source returns the only body format that a credential is valid for: Source, or that of its provider; "" = any.
func (c Credential) source() string {
	_, ofProvider := signatures[c.Kind]
	if c.Source == "" && (ofProvider || c.Kind == "sns") {
		return c.Kind
	}
	return c.Source
}

// headers are the kinds of providers whose header contains the secret itself.
var headers = map[string]string{"gitlab": "X-Gitlab-Token"}

// CredentialError is what is wrong with a field of a credential. It never contains the secret.
type CredentialError struct {
	Field string // as the configuration names it
	Fault string // the value, what is wrong with it, and what to use
}

// Error implements error.
func (e *CredentialError) Error() string { return e.Field + ": " + e.Fault }

func faultf(field, format string, args ...any) error {
	return &CredentialError{Field: field, Fault: fmt.Sprintf(format, args...)}
}

// Check returns a [*CredentialError] unless a credential is valid.
func (c Credential) Check() error {
	kinds := CredentialKinds()
	switch {
	case !slices.Contains(kinds, c.Kind):
		return faultf("kind", "%q is not a kind of credential; use %s", c.Kind, strings.Join(kinds, ", "))
	case c.Name == "":
		return faultf("name", "is empty; set one, because events name their sender by it")
	case strings.TrimSpace(c.Secret) == "" && c.Kind != "sns" && c.Kind != "mtls":
		return faultf("secret", "is empty; set secret or secret_file")
	case c.Username == "" && c.Kind == "basic":
		return faultf("username", "is empty; kind basic needs it")
	case c.Header == "" && (c.Kind == "header" || c.Kind == "hmac"):
		return faultf("header", "is empty; set the header that kind %s reads", c.Kind)
	case c.Kind == "sns":
		return c.checkSNS()
	case c.Kind == "standard":
		return c.checkStandard()
	case c.signsBody():
		return c.checkSignature()
	default:
		return nil
	}
}

func (c Credential) checkStandard() error {
	key, err := standardKey(c.Secret)
	if err != nil {
		return faultf("secret", "the value is not a key of Standard Webhooks; use whsec_ followed by base64")
	}
	if len(key) < minStandardKey {
		return faultf("secret", "the value is a key of %d bytes; Standard Webhooks require %d or more", len(key), minStandardKey)
	}
	return nil
}

// minStandardKey is the shortest key that Standard Webhooks allow, in bytes.
const minStandardKey = 24

func (c Credential) checkSNS() error {
	if len(c.Topics) == 0 {
		return faultf("topics", "is empty; list the ARNs to accept, because Amazon signs messages of anybody's topics")
	}
	if c.source() != "sns" {
		return faultf("source", "%q is not possible with kind sns; use sns, or leave it out", c.Source)
	}
	for _, topic := range c.Topics {
		if snsRegion(topic) == "" {
			return faultf("topics", "%q is not the ARN of a topic; use one like arn:aws:sns:eu-west-1:123456789012:alarms", topic)
		}
	}
	return nil
}

func (c Credential) checkSignature() error {
	switch {
	case hashes[c.algorithm()] == nil:
		return faultf("algorithm", "%q is not a valid value; use sha256, sha512 or sha1", c.Algorithm)
	case c.Encoding != "" && c.Encoding != "hex" && c.Encoding != "base64":
		return faultf("encoding", "%q is not a valid value; use hex or base64", c.Encoding)
	case c.Silences:
		return faultf("silences", "true is not possible with kind %s, which signs the body alone; use a token", c.Kind)
	case c.Tolerance < 0:
		return faultf("tolerance", "%s is out of range; use 0s or more", c.Tolerance)
	}
	return nil
}

func (c Credential) algorithm() string { return cmp.Or(c.Algorithm, "sha256") }

// required describes what a sender must present. It contains no secret.
func (c Credential) required() string {
	switch {
	case c.Kind == "bearer" && c.Name == defaultSender:
		return "its ingress token in the header Authorization: Bearer <token>"
	case c.Kind == "bearer":
		return "a token in the header Authorization: Bearer <token>"
	case c.Kind == "basic":
		return "a username and password in the header Authorization: Basic <...>"
	case c.Kind == "header" || headers[c.Kind] != "":
		return "a token in the header " + c.withDefaults().Header
	case c.Kind == "url":
		return "a token in the URL, ?token=<token>"
	case c.Kind == "mtls":
		return "a client certificate"
	case c.Kind == "sns":
		return "a message of a listed topic, signed by Amazon SNS"
	case c.Kind == "standard":
		return "a signature in the header Webhook-Signature"
	default:
		return "a signature in the header " + c.withDefaults().Header
	}
}

// withDefaults returns the credential with the values of its provider and the default tolerance.
func (c Credential) withDefaults() Credential {
	preset, ok := signatures[c.Kind]
	if ok {
		c.Prefix = preset.Prefix
	}
	c.Header = cmp.Or(headers[c.Kind], c.Header, preset.Header)
	c.Tolerance = cmp.Or(c.Tolerance, DefaultTolerance)
	return c
}

// signsBody reports whether the body must be read to check a credential.
func (c Credential) signsBody() bool {
	_, preset := signatures[c.Kind]
	return preset || c.Kind == "hmac" || c.Kind == "standard" || c.Kind == "sns"
}

// Unbound reports whether a credential signs bodies of any format, so that only their shape decides the format.
func (c Credential) Unbound() bool { return c.signsBody() && c.source() == "" }

// Signs reports whether a credential is a signature that is made with its secret.
func (c Credential) Signs() bool { return c.signsBody() && c.Kind != "sns" }

// Replayable returns for how long anybody who saw a signed webhook can send it again; 0 = without end, or nothing is signed.
func (c Credential) Replayable() time.Duration {
	switch {
	case c.Kind == "sns":
		return snsTolerance
	case c.Kind == "standard", c.TimestampHeader != "":
		return c.withDefaults().Tolerance
	}
	return 0
}
