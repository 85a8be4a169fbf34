package configs

import (
	"cmp"
	"net"
	"net/url"
	"reflect"
	"strings"

	"slackrelay/server"
)

// Validate returns every fault of a configuration, as [FieldError]. No fault contains a secret.
func (c *Config) Validate() []*FieldError {
	v := newValidator()
	v.bounds(reflect.ValueOf(c).Elem())
	c.validateListeners(v)
	c.validateRedis(v)
	c.validateSlack(v)
	c.validateInteractions(v)
	c.validateTelemetry(v)
	c.validateDecisionLog(v)
	c.validateOperations(v)
	c.validateCanary(v)
	c.validateChannels(v)
	c.validateClassification(v)
	c.validateHeartbeats(v)
	c.validateInhibitions(v)
	return *v.faults
}

func (c *Config) validateListeners(v validator) {
	if c.Listen == c.OpsListen && !strings.HasSuffix(c.Listen, ":0") {
		v.fault("ops_listen", "%q is also the value of listen; use another port, because senders must not reach it", c.OpsListen)
	}
	if least := server.BodiesInFlight * c.MaxBody; c.MaxInFlight != 0 && c.MaxInFlight < least {
		v.fault("max_in_flight", "%d is less than four times max_body; use %d or more, or 0", c.MaxInFlight, least)
	}
	c.validateExternalURL(v)
	if (c.TLSCertFile == "") != (c.TLSKeyFile == "") || c.TLSClientCAFile != "" && c.TLSCertFile == "" {
		v.fault("tls_cert_file", "set it together with tls_key_file; tls_client_ca_file needs both")
		return
	}
	_, err := c.TLS()
	v.add(err)
}

// validateExternalURL finds addresses to which nothing can be appended, or that contain a secret: everybody in Slack sees it.
func (c *Config) validateExternalURL(v validator) {
	u, err := url.Parse(c.ExternalURL)
	switch {
	case c.ExternalURL == "" || err != nil:
	case u.User != nil:
		v.fault("external_url", "contains a user, and everybody in Slack sees this setting; remove the user")
	case u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(c.ExternalURL, "?#"):
		v.fault("external_url", "has a query or a fragment, to which no path can be appended; use, for example, https://relay.example.com")
	case len(c.ExternalURL) > maxExternalURL:
		v.fault("external_url", "is longer than %d bytes; use a shorter address, because Slack limits links", maxExternalURL)
	}
}

// maxExternalURL leaves room for the rest of a link: Slack allows 3000 characters.
const maxExternalURL = 500

func (c *Config) validateSlack(v validator) {
	if c.Lease <= c.SlackTimeout {
		v.fault("lease", "%s is too short; use more than slack_timeout, %s, so that a message is sent within the lease",
			show(c.Lease), show(c.SlackTimeout))
	}
	if hasUser(c.SlackAPIURL) {
		v.fault("slack_api_url", userInURL)
	}
}

// userInURL is the fault of a URL for which [hasUser] holds.
const userInURL = "contains a user, and the relay prints this setting; remove the user"

func (c *Config) validateChannels(v validator) {
	switch {
	case len(c.Channels) == 0:
		v.fault("channels", "is empty; add at least one channel")
	case c.FirstChannel() == "":
		v.fault("channels", "has templates only; add a channel that webhooks are posted to")
	}
	known := c.indexes()
	seen := map[string]bool{}
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		if seen[ch.Name] {
			in.fault("name", "%q is the name of another channel; use each name once", ch.Name)
		}
		seen[ch.Name] = true
		ch.validate(in)
		ch.validateTemplate(in, known, c.Channels)
		if !ch.isTemplate() && ch.isOpen() && !c.AllowUnauthenticated && !isLoopback(c.Listen) {
			in.fault("ingress_token", "is empty, so that anyone who reaches %s could send to channel %s; "+
				"set ingress_token, auth or allow_unauthenticated", c.Listen, ch.Name)
		}
		if c.SlackAccess(ch).Token != "" && ch.SlackChannel == "" && ch.SlackWebhookURL == "" {
			in.fault("slack_channel", "is empty, although slack_token is set; set slack_channel or slack_webhook_url for channel %s", ch.Name)
		}
	}
	c.validateGroups(v)
}

// validateGroups finds channels that share a limit and define it differently.
func (c *Config) validateGroups(v validator) {
	first := map[string]Channel{}
	for i, ch := range c.Channels {
		group := cmp.Or(ch.LimitGroup, ch.Name)
		other, known := first[group]
		if !known {
			first[group] = ch
			continue
		}
		if other.Name != ch.Name && !reflect.DeepEqual(other.Tiers()[0], ch.Tiers()[0]) {
			v.in(indexed("channels", i)).fault("limit_group",
				"%q is also the group of channel %s, which has another channel level; give both the same level, because they share it",
				group, other.Name)
		}
	}
}

func (c Channel) validate(v validator) {
	if hasUser(c.SlackAPIURL) {
		v.fault("slack_api_url", userInURL)
	}
	c.validateLevels(v)
	c.validateFairness(v)
	c.validateDelivery(v)
	c.Flapping.validate(v.in("flapping"))
	switch {
	case c.SlackWebhookURL == "":
	case c.SlackChannel != "":
		v.fault("slack_webhook_url", "cannot be combined with slack_channel; keep one, because a webhook belongs to one channel of Slack")
	case isWorkflow(string(c.SlackWebhookURL)):
		v.fault("slack_webhook_url", "the value is a workflow trigger, which accepts no messages; use an incoming webhook")
	}
}

// hasUser reports whether a URL contains a user or a password.
func hasUser(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.User != nil
}

// isWorkflow tells Slack's workflow and trigger URLs from incoming webhooks.
func isWorkflow(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (strings.HasPrefix(u.Path, "/workflows/") || strings.HasPrefix(u.Path, "/triggers/"))
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
