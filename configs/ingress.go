package configs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/server"
)

// Credential is a way for a sender of a channel to show who it is; see [server.Credential]. Its name is what its events call
// their sender. Each field's comment ends with its default.
type Credential struct {
	// Name is what events call their sender.
	Name string `yaml:"name"`
	// Kind is bearer, basic, header, url, hmac, standard, sns or mtls, or the provider's: github, gitea, bitbucket, gitlab,
	// grafana, sentry, pagerduty.
	Kind string `yaml:"kind"`
	// Source is the only body format that the credential is valid for; empty = any, or the source that kind implies (empty).
	Source string `yaml:"source,omitempty"`
	// Secret is the token, the password, or the key of signatures.
	Secret     Secret `yaml:"secret,omitempty"`
	SecretFile string `yaml:"secret_file,omitempty"`
	// Username is for kind basic.
	Username string `yaml:"username,omitempty"`
	// Header holds the secret (kind header) or the signature (kind hmac, or where a provider lets you choose).
	Header string `yaml:"header,omitempty"`
	// Algorithm is sha256, sha512 or sha1 (sha256); Encoding hex or base64 (hex); Prefix stands before the signature.
	Algorithm string `yaml:"algorithm,omitempty"`
	Encoding  string `yaml:"encoding,omitempty"`
	Prefix    string `yaml:"prefix,omitempty"`
	// TimestampHeader is where a signed time stands, for kinds hmac and grafana (empty: the body alone is signed).
	TimestampHeader string `yaml:"timestamp_header,omitempty"`
	// Tolerance is how far a signed time may be off (5m).
	Tolerance time.Duration `yaml:"tolerance,omitempty"`
	// Topics are the ARNs for kind sns; Confirm opens the link that confirms a subscription (false).
	Topics  []string `yaml:"topics,omitempty"`
	Confirm bool     `yaml:"confirm,omitempty"`
	// Subjects are the names in client certificates, for kind mtls (any that tls_client_ca_file signed).
	Subjects []string `yaml:"subjects,omitempty"`
}

// OnDrop says how a source is answered of which everything was dropped.
type OnDrop struct {
	// Source is the body format.
	Source string `yaml:"source"`
	// Reply is 429, with Retry-After; not for senders that give up then.
	Reply int64 `yaml:"reply"`
}

// Bounds of what may be taken in.
const (
	maxMaxBody   = 64 << 20
	maxMaxEvents = 100_000
	maxMaxDepth  = 10_000
	maxMaxText   = 1_000_000
	maxLabels    = 10_000
	maxMaxEvent  = 256 << 10
	maxInFlight  = 16 << 30
	maxCrowd     = 100_000
)

const throttledStatus = 429

func (c Credential) option() server.Credential {
	return server.Credential{
		Name: c.Name, Kind: c.Kind, Source: c.Source, Secret: string(c.Secret), Username: c.Username, Header: c.Header,
		Algorithm: c.Algorithm, Encoding: c.Encoding, Prefix: c.Prefix, TimestampHeader: c.TimestampHeader, Tolerance: c.Tolerance,
		Topics: c.Topics, Confirm: c.Confirm, Subjects: c.Subjects,
	}
}

// validateBounds checks what is taken in at most, and over what.
func (c *Config) validateBounds(v *validator) {
	v.within("max_body", c.MaxBody, 1, maxMaxBody)
	v.within("max_events", c.MaxEvents, 1, maxMaxEvents)
	v.within("max_depth", c.MaxDepth, 1, maxMaxDepth)
	v.within("max_title", c.MaxTitle, 1, maxMaxText)
	v.within("max_text", c.MaxText, 1, maxMaxText)
	v.within("max_labels", c.MaxLabels, 1, maxLabels)
	v.within("max_label", c.MaxLabel, 1, maxMaxText)
	v.within("max_event", c.MaxEvent, events.MinEvent, maxMaxEvent)
	if least := server.BodiesInFlight * c.MaxBody; c.MaxInFlight != 0 && (c.MaxInFlight < least || c.MaxInFlight > maxInFlight) {
		v.fault("max_in_flight", "is %d; it must be 0, or between %d (four times max_body) and %d", c.MaxInFlight, least, maxInFlight)
	}
	v.within("max_concurrent", c.MaxConcurrent, 1, maxCrowd)
	v.between("read_timeout", c.ReadTimeout, 100*time.Millisecond, 10*time.Minute)
	v.addresses("trusted_proxies", c.TrustedProxies)
	if (c.TLSCertFile == "") != (c.TLSKeyFile == "") || c.TLSClientCAFile != "" && c.TLSCertFile == "" {
		v.fault("tls_cert_file", "and tls_key_file are needed together, and for tls_client_ca_file too")
		return
	}
	if _, err := c.TLS(); err != nil {
		v.faults = append(v.faults, err)
	}
}

// validateIngress checks who may send to a channel.
func (c Channel) validateIngress(v *validator, cfg *Config, sources []string) {
	v.addresses("allow_from", c.AllowFrom)
	names := map[string]bool{}
	for i, credential := range c.Auth {
		in := &validator{where: fmt.Sprintf("%sauth[%d] (%s).", v.where, i, credential.Name)}
		if err := credential.option().Check(); err != nil {
			v.fault(fmt.Sprintf("auth[%d] (%s):", i, credential.Name), "%v", err)
		}
		if names[credential.Name] {
			in.fault("name", "is that of another credential: events say by it who sent them")
		}
		names[credential.Name] = true
		if credential.Source != "" && !slices.Contains(sources, credential.Source) {
			in.fault("source", "is %q, which is unknown%s", credential.Source, didYouMean(credential.Source, sources))
		}
		if credential.Kind == "mtls" && cfg.TLSClientCAFile == "" {
			in.fault("kind", "mtls needs tls_client_ca_file, and tls_cert_file and tls_key_file")
		}
		v.faults = append(v.faults, in.faults...)
	}
	for i, drop := range c.OnDrop {
		if !slices.Contains(sources, drop.Source) {
			v.fault(indexed("on_drop", i)+".source", "is %q, which is unknown%s", drop.Source, didYouMean(drop.Source, sources))
		}
		if drop.Reply != throttledStatus {
			v.fault(indexed("on_drop", i)+".reply", "is %d; it must be %d", drop.Reply, throttledStatus)
		}
	}
}

// isOpen tells whether anybody who reaches the listener may send.
func (c Channel) isOpen() bool { return c.IngressToken == "" && len(c.Auth) == 0 }

func (v *validator) addresses(name string, texts []string) {
	if _, wrong := server.ParseAddresses(texts); wrong != "" {
		v.fault(name, "has %q; write addresses and ranges, like 10.0.0.7, 10.0.0.0/8 or fd00::/8", wrong)
	}
}

// ServerChannels are the channels for the public listener.
func (c *Config) ServerChannels() []server.Channel {
	channels := make([]server.Channel, len(c.Channels))
	for i, ch := range c.Channels {
		channels[i] = server.Channel{
			Name: ch.Name, SlackName: ch.SlackChannel, IngressToken: string(ch.IngressToken), AllowFrom: addresses(ch.AllowFrom),
		}
		for _, credential := range ch.Auth {
			channels[i].Credentials = append(channels[i].Credentials, credential.option())
		}
		for _, drop := range ch.OnDrop {
			channels[i].Throttled = append(channels[i].Throttled, drop.Source)
		}
	}
	return channels
}

// Proxies are trusted to say where requests come from.
func (c *Config) Proxies() []netip.Prefix { return addresses(c.TrustedProxies) }

func addresses(texts []string) []netip.Prefix {
	all, _ := server.ParseAddresses(texts) // validated before
	return all
}

func (c *Config) limits() events.Limits {
	return events.Limits{
		Events: int(c.MaxEvents), Depth: int(c.MaxDepth), Title: int(c.MaxTitle), Text: int(c.MaxText), Labels: int(c.MaxLabels), Label: int(c.MaxLabel),
		Event: int(c.MaxEvent),
	}
}

// TLS is how the public listener speaks TLS; nil = it does not. Certificates are read anew with each call.
func (c *Config) TLS() (*tls.Config, error) {
	if c.TLSCertFile == "" {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return nil, faultf("tls_cert_file", "and tls_key_file cannot be used: %v", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	if c.TLSClientCAFile == "" {
		return config, nil
	}
	authorities, err := os.ReadFile(c.TLSClientCAFile)
	if err != nil {
		return nil, faultf("tls_client_ca_file", "cannot be read: %v", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, faultf("tls_client_ca_file", "holds no certificate in PEM")
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven // a channel may ask for a token instead
	return config, nil
}
