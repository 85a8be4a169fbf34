package configs

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/server"
)

// Credential is a way for a sender to prove who it is; see [server.Credential].
type Credential struct {
	// Name is the name of the sender in its events.
	Name string `yaml:"name"`
	// Kind is bearer, basic, header, url, hmac, standard, sns or mtls, or a provider: github, gitea, bitbucket, gitlab, grafana,
	// sentry or pagerduty.
	Kind string `yaml:"kind"`
	// Source is the only body format that the credential is valid for.
	Source string `yaml:"source,omitempty" unset:"any, or the format of the provider"`
	// Secret is the token, the password, or the key of signatures.
	Secret     Secret `yaml:"secret,omitempty"`
	SecretFile string `yaml:"secret_file,omitempty"`
	// Username is the user name, for kind basic.
	Username string `yaml:"username,omitempty"`
	// Header is the header with the secret (kind header) or the signature (kind hmac, and providers that let you choose).
	Header string `yaml:"header,omitempty"`
	// Algorithm is sha256, sha512 or sha1, for signatures.
	Algorithm string `yaml:"algorithm,omitempty" unset:"sha256"`
	// Encoding is hex or base64, for signatures.
	Encoding string `yaml:"encoding,omitempty" unset:"hex"`
	// Prefix is the text before the signature in its header.
	Prefix string `yaml:"prefix,omitempty"`
	// TimestampHeader is the header with the time that is signed, for kinds hmac and grafana.
	TimestampHeader string `yaml:"timestamp_header,omitempty" unset:"only the body is signed"`
	// Tolerance is the largest difference between the signed time and the time of the relay.
	Tolerance time.Duration `yaml:"tolerance,omitempty" unset:"5m"`
	// Topics are the ARNs of the topics to accept, for kind sns.
	Topics []string `yaml:"topics,omitempty"`
	// Confirm makes the relay confirm subscriptions to these topics by itself.
	Confirm bool `yaml:"confirm,omitempty"`
	// Subjects are the names in client certificates to accept, for kind mtls.
	Subjects []string `yaml:"subjects,omitempty" unset:"all that tls_client_ca_file signed"`
	// Silences lets the sender make and end silences of the channel with Alertmanager's API.
	Silences bool `yaml:"silences,omitempty"`
}

// OnDrop is the answer to a source if all events of a webhook were dropped.
type OnDrop struct {
	// Source is the body format.
	Source string `yaml:"source"`
	// Reply is the status of the answer: 429, with Retry-After. Do not use it for senders that then give up.
	Reply int64 `yaml:"reply"`
}

const throttledStatus = 429

func (c Credential) option() server.Credential {
	return server.Credential{
		Name: c.Name, Kind: c.Kind, Source: c.Source, Secret: string(c.Secret), Username: c.Username, Header: c.Header,
		Algorithm: c.Algorithm, Encoding: c.Encoding, Prefix: c.Prefix, TimestampHeader: c.TimestampHeader, Tolerance: c.Tolerance,
		Topics: c.Topics, Confirm: c.Confirm, Subjects: c.Subjects, Silences: c.Silences,
	}
}

// validateIngress checks who may send to a channel. sources are the body formats that exist.
func (c Channel) validateIngress(v validator, cfg *Config, sources []string) {
	names := map[string]bool{}
	for i, credential := range c.Auth {
		in := v.in(indexed("auth", i))
		if fault, faulty := errors.AsType[*server.CredentialError](credential.option().Check()); faulty {
			in.fault(fault.Field, "%s", fault.Fault)
		}
		if names[credential.Name] {
			in.fault("name", "%q is the name of another credential; use each name once, because events name their sender by it", credential.Name)
		}
		names[credential.Name] = true
		if credential.Source != "" && !slices.Contains(sources, credential.Source) {
			in.fault("source", "%q is not a source%s", credential.Source, didYouMean(credential.Source, sources))
		}
		if credential.Kind == "mtls" && cfg.TLSClientCAFile == "" {
			in.fault("kind", "mtls needs tls_client_ca_file, tls_cert_file and tls_key_file")
		}
	}
	for i, drop := range c.OnDrop {
		in := v.in(indexed("on_drop", i))
		if !slices.Contains(sources, drop.Source) {
			in.fault("source", "%q is not a source%s", drop.Source, didYouMean(drop.Source, sources))
		}
		if drop.Reply != throttledStatus {
			in.fault("reply", "%d is not supported; use %d", drop.Reply, throttledStatus)
		}
	}
}

// isOpen reports whether anyone who reaches the listener may send.
func (c Channel) isOpen() bool { return c.IngressToken == "" && len(c.Auth) == 0 }

// OpsIsLocal reports whether only this machine reaches the ops listener.
func (c *Config) OpsIsLocal() bool { return isLoopback(c.OpsListen) }

// ServerChannels returns the channels for the public listener, without templates.
func (c *Config) ServerChannels() []server.Channel {
	channels := make([]server.Channel, 0, len(c.Channels))
	for _, ch := range c.Channels {
		if ch.isTemplate() { // nobody posts to it
			continue
		}
		one := server.Channel{
			Name: ch.Name, SlackName: ch.SlackChannel, IngressToken: string(ch.IngressToken), AllowFrom: networks(ch.AllowFrom),
			ResolveTimeout: ch.ResolveTimeout,
		}
		for _, credential := range ch.Auth {
			one.Credentials = append(one.Credentials, credential.option())
		}
		for _, drop := range ch.OnDrop {
			one.Throttled = append(one.Throttled, drop.Source)
		}
		channels = append(channels, one)
	}
	return channels
}

// Proxies returns the addresses whose X-Forwarded-For is trusted.
func (c *Config) Proxies() []netip.Prefix { return networks(c.TrustedProxies) }

func networks(texts []string) []netip.Prefix {
	all, _ := server.ParseAddresses(texts) // validated before
	return all
}

func (c *Config) limits() events.Limits {
	return events.Limits{
		Events: int(c.MaxEvents),
		Depth:  int(c.MaxDepth),
		Title:  int(c.MaxTitle),
		Text:   int(c.MaxText),
		Labels: int(c.MaxLabels),
		Label:  int(c.MaxLabel),
		Event:  int(c.MaxEvent),
	}
}
