package configs

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of the settings.
const (
	maxLimit  = 1_000_000
	minWindow = time.Millisecond
	maxWindow = 31 * 24 * time.Hour
	maxDrain  = 10 * time.Minute

	maxReplicas = 10_000
)

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Validate finds every fault of a configuration. No fault holds a secret.
func (c *Config) Validate() []error {
	v := &validator{}
	v.address("listen", c.Listen)
	v.address("ops_listen", c.OpsListen)
	if c.Listen == c.OpsListen && !strings.HasSuffix(c.Listen, ":0") {
		v.fault("ops_listen", "must differ from listen: it serves what senders must not reach")
	}
	c.validateRedis(v)
	v.between("drain", c.Drain, 0, maxDrain)
	v.between("dedupe", c.Dedupe, time.Second, maxWindow)
	v.between("slack_timeout", c.SlackTimeout, 10*time.Millisecond, time.Minute)
	if c.Lease <= c.SlackTimeout {
		v.fault("lease", "is %s and must be longer than slack_timeout, %s: a send must end within it", c.Lease, c.SlackTimeout)
	}
	switch u, err := url.Parse(c.SlackApiURL); {
	case c.SlackApiURL == "":
	case err != nil || !isWebURL(c.SlackApiURL):
		v.fault("slack_api_url", "must be an http or https URL")
	case u.User != nil:
		v.fault("slack_api_url", "contains a user, and the relay prints this setting; remove the user")
	}
	v.oneOf("log_level", c.LogLevel, "debug", "info", "warn", "error")
	v.oneOf("log_format", c.LogFormat, "text", "json")
	c.validateTelemetry(v)
	c.validateBounds(v)
	c.validateChannels(v)
	c.validateClassification(v)
	c.validateOperations(v)
	c.validateCanary(v)
	return v.faults
}

func (c *Config) validateRedis(v *validator) {
	if c.RedisURL != "" {
		if _, err := redis.ParseURL(string(c.RedisURL)); err != nil { // the error may hold the password
			v.fault("redis_url", "is not of the form redis://user:password@host:6379/0 or rediss://...")
		}
	}
	if c.RedisURL != "" && len(c.RedisAddrs) > 0 {
		v.fault("redis_addrs", "and redis_url are both set; keep one")
	}
	for i, addr := range c.RedisAddrs {
		v.address(fmt.Sprintf("redis_addrs[%d]", i), addr)
	}
	switch {
	case len(c.RedisAddrs) == 0 && (c.RedisCluster || c.RedisMasterName != "" || c.RedisTls):
		v.fault("redis_addrs", "is needed with redis_cluster, redis_master_name or redis_tls")
	case c.RedisCluster && c.RedisMasterName != "":
		v.fault("redis_master_name", "and redis_cluster are both set; the addresses are Sentinels or nodes of a Cluster, keep one")
	case len(c.RedisAddrs) > 1 && !c.RedisCluster && c.RedisMasterName == "":
		v.fault("redis_addrs", "names several servers; set redis_cluster, or redis_master_name for Sentinels")
	}
	if c.RedisWaitReplicas < 0 || c.RedisWaitReplicas > maxReplicas {
		v.fault("redis_wait_replicas", "is %d; it must be between 0 and %d", c.RedisWaitReplicas, maxReplicas)
	}
	if c.Replicas < 0 || c.Replicas > maxReplicas {
		v.fault("replicas", "is %d; it must be between 0 and %d", c.Replicas, maxReplicas)
	}
	v.between("redis_timeout", c.RedisTimeout, 10*time.Millisecond, 30*time.Second)
}

func (c *Config) validateChannels(v *validator) {
	if len(c.Channels) == 0 {
		v.fault("channels", "is empty; name at least one channel")
	}
	seen := map[string]bool{}
	for i, ch := range c.Channels {
		where := fmt.Sprintf("channels[%d] (%s)", i, ch.Name)
		if seen[ch.Name] {
			v.fault(where, "has the name of another channel")
		}
		seen[ch.Name] = true
		in := &validator{where: where + "."}
		ch.validate(in)
		if ch.isOpen() && !c.AllowUnauthenticated && !isLoopback(c.Listen) {
			in.fault("ingress_token", "or auth is needed because listen is %s, not a loopback address; set one of them, or allow_unauthenticated", c.Listen)
		}
		if c.SlackToken != "" && ch.SlackChannel == "" && ch.SlackWebhookURL == "" {
			in.fault("slack_channel", "or slack_webhook_url is needed: slack_token is set, but not where this channel's messages go")
		}
		v.faults = append(v.faults, in.faults...)
	}
	c.validateGroups(v)
}

// validateGroups finds channels that share a limit and do not agree what it is.
func (c *Config) validateGroups(v *validator) {
	first := map[string]Channel{}
	for i, ch := range c.Channels {
		group := cmp.Or(ch.LimitGroup, ch.Name)
		other, known := first[group]
		if !known {
			first[group] = ch
			continue
		}
		if other.Name != ch.Name && !reflect.DeepEqual(other.Tiers()[0], ch.Tiers()[0]) {
			v.fault(fmt.Sprintf("channels[%d] (%s).limit_group", i, ch.Name),
				"is %s, as that of %s, but their channel levels differ: they share one, so give both the same", group, other.Name)
		}
	}
}

func (c Channel) validate(v *validator) {
	if !channelName.MatchString(c.Name) {
		v.fault("name", "must be 1 to 63 of a-z, 0-9 and -, not beginning with -")
	}
	v.limit("global_limit", c.GlobalLimit)
	v.limit("category_limit", c.CategoryLimit)
	v.between("window", c.Window, minWindow, maxWindow)
	if c.GlobalWindow != 0 {
		v.between("global_window", c.GlobalWindow, minWindow, maxWindow)
	}
	if c.CategoryWindow != 0 {
		v.between("category_window", c.CategoryWindow, minWindow, maxWindow)
	}
	v.between("pace", c.Pace, 0, time.Hour)
	v.limit("burst", c.Burst)
	v.oneOf("on_redis_down", c.OnRedisDown, "local", "closed", "open")
	if c.LimitGroup != "" && !channelName.MatchString(c.LimitGroup) {
		v.fault("limit_group", "must be 1 to 63 of a-z, 0-9 and -, not beginning with -")
	}
	c.validateLevels(v)
	c.validateDelivery(v)
	switch {
	case c.SlackWebhookURL == "":
	case !isWebURL(string(c.SlackWebhookURL)):
		v.fault("slack_webhook_url", "must be an http or https URL")
	case c.SlackChannel != "":
		v.fault("slack_webhook_url", "and slack_channel are both set; a webhook has its channel already, keep one")
	case isWorkflow(string(c.SlackWebhookURL)):
		v.fault("slack_webhook_url", "is a workflow trigger, which takes no messages; use an incoming webhook")
	}
}

// warnings are settings that work but are likely not meant.
func (c *Config) warnings() []string {
	var all []string
	if c.RedisURL == "" && len(c.RedisAddrs) == 0 {
		all = append(all, "redis_url is not set: limits hold for this process only, and what is pending ends with it")
	}
	all = append(all, c.credentialWarnings()...)
	if u, err := redis.ParseURL(string(c.RedisURL)); err == nil && u.TLSConfig != nil && u.TLSConfig.InsecureSkipVerify {
		all = append(all, "redis_url has skip_verify=true: the relay accepts any server as Redis, whatever its certificate; remove it, and make the system trust the authority of the certificate")
	}
	for _, ch := range c.Channels {
		switch {
		case ch.SlackChannel != "" && c.SlackToken == "":
			all = append(all, "channel "+ch.Name+" has a slack_channel but slack_token is not set: its messages are only shown on the console")
		case ch.SlackChannel == "" && ch.SlackWebhookURL == "":
			all = append(all, "channel "+ch.Name+" has no Slack destination: its messages are only shown on the console")
		}
		all = append(all, ch.fairnessWarnings()...)
		if ch.CategoryLimit > ch.GlobalLimit {
			all = append(all, fmt.Sprintf("channel %s: category_limit %d is above global_limit %d and never reached", ch.Name, ch.CategoryLimit, ch.GlobalLimit))
		}
	}
	return all
}

// validator collects faults.
type validator struct {
	where  string
	faults []error
}

func (v *validator) fault(name, format string, args ...any) {
	v.faults = append(v.faults, faultf(v.where+name, format, args...))
}

func (v *validator) address(name, address string) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		v.fault(name, "is %q; write host:port, like 127.0.0.1:8080 or :8080", address)
	}
}

func (v *validator) between(name string, d, low, high time.Duration) {
	if d < low || d > high {
		v.fault(name, "is %s; it must be between %s and %s", d, low, high)
	}
}

func (v *validator) limit(name string, n int64) {
	if n < 1 || n > maxLimit {
		v.fault(name, "is %d; it must be between 1 and %d", n, maxLimit)
	}
}

func (v *validator) oneOf(name, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		v.fault(name, "is %q; it must be %s", value, strings.Join(allowed, ", "))
	}
}

func isWebURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
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
