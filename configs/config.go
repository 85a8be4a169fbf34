// Package configs loads the relay's configuration: defaults, then a YAML file, then the environment, then
// flags; then it is validated as a whole, and every fault is reported at once.
//
// Plain settings have the same name in the file (redis_url) and in the environment (RELAY_REDIS_URL). Only
// this package reads files and environment; the other rooms are given option structs (see options.go).
package configs

import (
	"time"
)

// Config is everything that can be set. Each field's comment ends with its default.
type Config struct {
	// Listen is where webhooks are taken, host:port (127.0.0.1:8080).
	Listen string `yaml:"listen" split_words:"true"`
	// OpsListen is where health, metrics and the API are served, host:port (127.0.0.1:9090).
	OpsListen string `yaml:"ops_listen" split_words:"true"`
	// RedisURL is redis://... or rediss://...; empty = in memory, one replica, not durable (empty).
	RedisURL     Secret `yaml:"redis_url"      split_words:"true"`
	RedisURLFile string `yaml:"redis_url_file" split_words:"true"`
	// RedisAddrs are the nodes of a Redis Cluster, or the Sentinels, host:port, instead of redis_url (empty).
	RedisAddrs []string `yaml:"redis_addrs" split_words:"true"`
	// RedisMasterName is the name of the master that the Sentinels in redis_addrs watch (empty).
	RedisMasterName string `yaml:"redis_master_name" split_words:"true"`
	// RedisCluster says that redis_addrs are nodes of a Redis Cluster (false).
	RedisCluster bool `yaml:"redis_cluster" split_words:"true"`
	// RedisTls speaks TLS to redis_addrs; with redis_url, write rediss:// (false).
	RedisTls bool `yaml:"redis_tls" split_words:"true"` //nolint:revive // envconfig makes REDIS_TLS of this spelling
	// RedisUsername and RedisPassword are for redis_addrs, and win over those in redis_url (empty).
	RedisUsername     string `yaml:"redis_username"      split_words:"true"`
	RedisPassword     Secret `yaml:"redis_password"      split_words:"true"`
	RedisPasswordFile string `yaml:"redis_password_file" split_words:"true"`
	// RedisWaitReplicas is how many replicas of Redis must hold an admission before it is answered (0).
	RedisWaitReplicas int64 `yaml:"redis_wait_replicas" split_words:"true"`
	// RedisTimeout bounds one call of the limiter to Redis (1s).
	RedisTimeout time.Duration `yaml:"redis_timeout" split_words:"true"`
	// Replicas is how many relays are expected, for on_redis_down: local; 0 = only those that are heard (0).
	Replicas int64 `yaml:"replicas" split_words:"true"`
	// AdminToken is needed by every call of the ops listener that changes state, and to read events where that is not
	// a loopback address; empty = such calls are refused (empty).
	AdminToken     Secret `yaml:"admin_token"      split_words:"true"`
	AdminTokenFile string `yaml:"admin_token_file" split_words:"true"`
	// Drain is how long webhooks are still taken after SIGTERM, with /readyz already 503 (5s).
	Drain time.Duration `yaml:"drain" split_words:"true"`
	// Dedupe is how long the id of an admitted event is remembered (1h).
	Dedupe time.Duration `yaml:"dedupe" split_words:"true"`
	// Lease is how long a replica that died keeps its channels from being served by another (10s).
	Lease time.Duration `yaml:"lease" split_words:"true"`
	// SlackToken is the bot token; empty = messages are shown on the console instead (empty).
	SlackToken     Secret `yaml:"slack_token"      split_words:"true"`
	SlackTokenFile string `yaml:"slack_token_file" split_words:"true"`
	// SlackApiURL is the base URL of the Slack Web API, for tests and gateways (Slack's own).
	SlackApiURL string `yaml:"slack_api_url" split_words:"true"` //nolint:revive // envconfig makes SLACK_API_URL of this spelling; a tag would also read the bare name
	// SlackTimeout bounds one request to Slack; it must be shorter than the lease (5s).
	SlackTimeout time.Duration `yaml:"slack_timeout" split_words:"true"`
	// SlackSettle is how long after an attempt of which nobody knows whether it arrived Slack is asked, and again
	// after twice that; it needs channels:history; 0s = never (10s).
	SlackSettle time.Duration `yaml:"slack_settle" split_words:"true"`
	// SlackPostsPerMinute, SlackEditsPerMinute and SlackLookupsPerMinute are what one bot token may do in a minute,
	// over all channels and replicas, and half of it at once. 0 = what Slack allows, 300, 50 and 50; where
	// slack_api_url names another server, that one says itself what it allows (0, 0 and 0).
	SlackPostsPerMinute   int64 `yaml:"slack_posts_per_minute"   split_words:"true"`
	SlackEditsPerMinute   int64 `yaml:"slack_edits_per_minute"   split_words:"true"`
	SlackLookupsPerMinute int64 `yaml:"slack_lookups_per_minute" split_words:"true"`
	// OperationsSlackChannel is where the relay tells its operators that a channel waits, a token is refused or dead
	// letters grow, by the bot token (empty).
	OperationsSlackChannel string `yaml:"operations_slack_channel" split_words:"true"`
	// OperationsWebhookURL is any URL that takes {"text": "..."} instead, in Slack or not (empty).
	OperationsWebhookURL     Secret `yaml:"operations_webhook_url"      split_words:"true"`
	OperationsWebhookURLFile string `yaml:"operations_webhook_url_file" split_words:"true"`
	// DeadLetters is how many messages that Slack refused for good a channel keeps (1000).
	DeadLetters int64 `yaml:"dead_letters" split_words:"true"`
	// AllowUnauthenticated lets channels without an ingress token be reached from other machines (false).
	AllowUnauthenticated bool `yaml:"allow_unauthenticated" split_words:"true"`
	// TrustedProxies are addresses and ranges of proxies that are believed when X-Forwarded-For says where a request comes
	// from (none).
	TrustedProxies []string `yaml:"trusted_proxies" split_words:"true"`
	// TLSCertFile and TLSKeyFile make the public listener speak TLS; files that change are read again (empty).
	TLSCertFile string `yaml:"tls_cert_file" split_words:"true"`
	TLSKeyFile  string `yaml:"tls_key_file"  split_words:"true"`
	// TLSClientCAFile holds the authorities of client certificates, for credentials of kind mtls (empty).
	TLSClientCAFile string `yaml:"tls_client_ca_file" split_words:"true"`
	// MaxBody is the most bytes of a webhook's body, as it is and unpacked (1048576).
	MaxBody int64 `yaml:"max_body" split_words:"true"`
	// MaxEvents is the most events of a webhook (1000), MaxDepth how deep its JSON may be nested (100).
	MaxEvents int64 `yaml:"max_events" split_words:"true"`
	MaxDepth  int64 `yaml:"max_depth"  split_words:"true"`
	// MaxTitle, MaxText and MaxLabel are the most characters of an event's title, text, and each label, and MaxLabels how many
	// labels it may have; what is longer is cut (1000, 12000, 1000 and 64).
	MaxTitle  int64 `yaml:"max_title"  split_words:"true"`
	MaxText   int64 `yaml:"max_text"   split_words:"true"`
	MaxLabel  int64 `yaml:"max_label"  split_words:"true"`
	MaxLabels int64 `yaml:"max_labels" split_words:"true"`
	// MaxEvent is the most bytes of a stored event; a longer one is stored as plain text that is cut and marked as
	// shortened (32768).
	MaxEvent int64 `yaml:"max_event" split_words:"true"`
	// MaxInFlight is the most bytes of bodies in flight over all requests, at least four times max_body; above it, requests
	// are answered 503. 0 = 64 MiB, or four times max_body if that is more (0).
	MaxInFlight int64 `yaml:"max_in_flight" split_words:"true"`
	// MaxConcurrent is how many webhooks one address may have in hand at a time; more are answered 503 (256).
	MaxConcurrent int64 `yaml:"max_concurrent" split_words:"true"`
	// TestLane accepts webhooks with ?test=1, which reach the same destination with a separate budget (true).
	TestLane bool `yaml:"test_lane" split_words:"true"`
	// ReadTimeout is how long a request may take to arrive, its headers a third of that (15s).
	ReadTimeout time.Duration `yaml:"read_timeout" split_words:"true"`
	// CanaryInterval is how often a message goes the whole way to Slack, to see whether it arrives; 0s = never (0s).
	CanaryInterval time.Duration `yaml:"canary_interval" split_words:"true"`
	// CanaryWithin is how long it may take before the operations channel is told (1m).
	CanaryWithin time.Duration `yaml:"canary_within" split_words:"true"`
	// CanarySlackChannel is where it goes, by the bot token (empty).
	CanarySlackChannel string `yaml:"canary_slack_channel" split_words:"true"`
	// CanaryWebhookURL is an incoming webhook instead (empty).
	CanaryWebhookURL     Secret `yaml:"canary_webhook_url"      split_words:"true"`
	CanaryWebhookURLFile string `yaml:"canary_webhook_url_file" split_words:"true"`
	// LogLevel is debug, info, warn or error (info).
	LogLevel string `yaml:"log_level" split_words:"true"`
	// LogFormat is text or json (text).
	LogFormat string `yaml:"log_format" split_words:"true"`
	// LogBurst is how many lines a second of one message and channel are written; of more, one in a hundred. For
	// refused requests it is a strict limit over all channels. 0 = all (20).
	LogBurst int64 `yaml:"log_burst" split_words:"true"`
	// OtlpEndpoint is the URL of an OpenTelemetry collector, as OTLP over HTTP; traces go to it. Empty = none are made (empty).
	OtlpEndpoint string `yaml:"otlp_endpoint" split_words:"true"`
	// OtlpHeaders go with them, name=value,name=value (empty).
	OtlpHeaders     Secret `yaml:"otlp_headers"      split_words:"true"`
	OtlpHeadersFile string `yaml:"otlp_headers_file" split_words:"true"`
	// TraceRatio is the share of webhooks that are traced, of those whose sender does not say itself whether it is (1).
	TraceRatio float64 `yaml:"trace_ratio" split_words:"true"`
	// Sources are body formats of your own (none).
	Sources []Source `yaml:"sources" ignored:"true"`
	// Schedules are times that rules can name (none).
	Schedules []Schedule `yaml:"schedules" ignored:"true"`
	// Channels are the destinations (one, named default).
	Channels []Channel `yaml:"channels" ignored:"true"`
}

// Channel is a named destination with its limits.
type Channel struct {
	// Name is what senders put into the path: [a-z0-9][a-z0-9-]{0,62}.
	Name string `yaml:"name" ignored:"true"`
	// SlackChannel is a channel's id or name, for the bot token (empty).
	SlackChannel string `yaml:"slack_channel" split_words:"true"`
	// SlackWebhookURL is an incoming webhook, instead of the bot token (empty).
	SlackWebhookURL     Secret `yaml:"slack_webhook_url"      split_words:"true"`
	SlackWebhookURLFile string `yaml:"slack_webhook_url_file" split_words:"true"`
	// GlobalLimit is how many events the channel admits within its window (100).
	GlobalLimit int64 `yaml:"global_limit" split_words:"true"`
	// CategoryLimit is how many events of one category are admitted within the window (10).
	CategoryLimit int64 `yaml:"category_limit" split_words:"true"`
	// Window is the rolling window of both limits (30m).
	Window time.Duration `yaml:"window" split_words:"true"`
	// GlobalWindow is the window of the channel, where it differs (0s = window).
	GlobalWindow time.Duration `yaml:"global_window" split_words:"true"`
	// CategoryWindow is the window of each category, where it differs (0s = window).
	CategoryWindow time.Duration `yaml:"category_window" split_words:"true"`
	// Pace is the time between two messages to Slack; 0s = no pace (1s).
	Pace time.Duration `yaml:"pace" split_words:"true"`
	// Burst is how many messages may be sent at once (3).
	Burst int64 `yaml:"burst" split_words:"true"`
	// TTL is how old a message may be when it is sent; older ones expire, and the digest names them; 0s = any age (1h).
	TTL time.Duration `yaml:"ttl" split_words:"true"`
	// Overflow says what becomes of what does not fit: drop, delay (it waits for a slot), or merge (it is counted on
	// its category's last message, by the bot token) (drop).
	Overflow string `yaml:"overflow" split_words:"true"`
	// MaxDelayed is how many events may wait for a slot, and MaxDelay for how long, with overflow: delay (1000, 1h).
	MaxDelayed int64         `yaml:"max_delayed" split_words:"true"`
	MaxDelay   time.Duration `yaml:"max_delay"   split_words:"true"`
	// Bundle is off or webhook: the events of one webhook with the same category become one message for one slot
	// (off).
	Bundle string `yaml:"bundle" split_words:"true"`
	// Resolves says what becomes of a resolve whose firing was posted: post, reply (in its thread), or edit (of its
	// message, for no slot); reply and edit need the bot token (post).
	Resolves string `yaml:"resolves" split_words:"true"`
	// Repeats says what becomes of a firing that was posted before: post, or merge (it is counted on its message, by
	// the bot token) (post).
	Repeats string `yaml:"repeats" split_words:"true"`
	// RememberPosted is how long a message can be found by its resolve or repeat (72h).
	RememberPosted time.Duration `yaml:"remember_posted" split_words:"true"`
	// Digest posts what was dropped or expired, at most once per interval (true).
	Digest bool `yaml:"digest" split_words:"true"`
	// DigestInterval is the time of one digest (0s = window).
	DigestInterval time.Duration `yaml:"digest_interval" split_words:"true"`
	// DigestMinimum is how much a digest must have to tell (1).
	DigestMinimum int64 `yaml:"digest_minimum" split_words:"true"`
	// DropRecord is how many dropped events are kept, to be listed and sent again (10000).
	DropRecord int64 `yaml:"drop_record" split_words:"true"`
	// OnUnknown says what becomes of a message that may have been posted, where Slack cannot be asked: retry (it may
	// appear twice) or drop (it goes to the dead letters) (retry).
	OnUnknown string `yaml:"on_unknown" split_words:"true"`
	// Unknown is the same for single severities (none).
	Unknown []Unknown `yaml:"unknown" ignored:"true"`
	// Mentions call people by severity (none).
	Mentions []Mention `yaml:"mentions" ignored:"true"`
	// AllowMentions lets a sender's text call people (false).
	AllowMentions bool `yaml:"allow_mentions" split_words:"true"`
	// TemplateTitle and TemplateText say events in your own words, as Go templates (empty).
	TemplateTitle string `yaml:"template_title" split_words:"true"`
	TemplateText  string `yaml:"template_text"  split_words:"true"`
	// FallbackSlackChannel gets what this channel's destination refuses for good, by the bot token (empty).
	FallbackSlackChannel string `yaml:"fallback_slack_channel" split_words:"true"`
	// FallbackWebhookURL is an incoming webhook instead (empty).
	FallbackWebhookURL     Secret `yaml:"fallback_webhook_url"      split_words:"true"`
	FallbackWebhookURLFile string `yaml:"fallback_webhook_url_file" split_words:"true"`
	// OnRedisDown says what happens while Redis is away: local = this replica's share of the limits, closed =
	// webhooks answer 503 and senders retry, open = everything is admitted (local).
	OnRedisDown string `yaml:"on_redis_down" split_words:"true"`
	// LimitGroup names a group of channels that share the channel level; empty = the channel by itself (empty).
	LimitGroup string `yaml:"limit_group" split_words:"true"`
	// IngressToken is the bearer token that senders must present (empty).
	IngressToken     Secret `yaml:"ingress_token"      split_words:"true"`
	IngressTokenFile string `yaml:"ingress_token_file" split_words:"true"`
	// Auth are further ways for senders to show who they are; any is enough (none).
	Auth []Credential `yaml:"auth" ignored:"true"`
	// AllowFrom are the addresses and ranges that may send; empty = all (none).
	AllowFrom []string `yaml:"allow_from" split_words:"true"`
	// OnDrop are sources that are answered 429 when everything of a webhook was dropped, instead of 202 (none).
	OnDrop []OnDrop `yaml:"on_drop" ignored:"true"`
	// Rules classify events before the limits are asked; the first that matches decides (none).
	Rules []Rule `yaml:"rules" ignored:"true"`
	// RuleTests are webhooks and what the rules must make of them (none).
	RuleTests []RuleTest `yaml:"rule_tests" ignored:"true"`
	// Levels are tiers beyond channel and category, or in their place by name (none).
	Levels []Level `yaml:"levels" ignored:"true"`
	// FirstNotice keeps slots for categories of which nothing was heard lately (off).
	FirstNotice FirstNotice `yaml:"first_notice" ignored:"true"`
	// Reserves keep slots for named categories (none).
	Reserves []Reserve `yaml:"reserves" ignored:"true"`
	// Headroom limits the share of the channel that severities may use (none).
	Headroom []Headroom `yaml:"headroom" ignored:"true"`
}
