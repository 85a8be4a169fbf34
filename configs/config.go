// Package configs loads the relay's configuration: defaults, then a YAML file, then the environment, then
// flags. It validates the result as a whole and reports every fault at once, with the line of the file or the
// variable that it comes from.
//
// A setting is one field of an option struct ([Config], [Channel] and the structs in them). Its tags declare its
// name, default, bounds and whether it needs a restart; see setting for the tags. Its comment is its documentation.
// The loader, the checks, docs/configuration.md and the chart are derived from these fields.
//
// Plain settings have the same name in the file (redis_url) and in the environment (RELAY_REDIS_URL). Only this package
// reads files and environment; the other rooms get option structs (see options.go).
package configs

import (
	"time"

	"slackrelay/events"
)

// Config contains every setting of a relay. Get one from [Load] or [Default]; the zero value is not valid.
//
//	loaded, err := configs.Load(configs.Flags{File: "relay.yaml"})
type Config struct {
	// Listen is the address, host:port, where the relay accepts webhooks.
	Listen string `yaml:"listen" initial:"127.0.0.1:8080" format:"address" restart:"true" section:"Listeners"`
	// OpsListen is the address, host:port, of health checks, metrics, the dashboard and the API. Senders must not reach it.
	OpsListen string `yaml:"ops_listen" initial:"127.0.0.1:9090" format:"address" restart:"true"`
	// AdminToken is the bearer token for calls of the ops listener that change something. It is also required to read the text
	// of events, unless ops_listen is a loopback address.
	AdminToken     Secret `yaml:"admin_token" unset:"such calls are refused"`
	AdminTokenFile string `yaml:"admin_token_file"`
	// AllowUnauthenticated permits channels that have neither ingress_token nor auth on a listener that other machines reach.
	AllowUnauthenticated bool `yaml:"allow_unauthenticated"`
	// TrustedProxies are the addresses and ranges of proxies whose X-Forwarded-For header is trusted.
	TrustedProxies []string `yaml:"trusted_proxies" format:"networks" unset:"no proxy is trusted"`
	// TLSCertFile is the certificate, in PEM, that turns on TLS for webhooks. The relay reads the file again when it changes.
	TLSCertFile string `yaml:"tls_cert_file" restart:"to turn TLS on or off" unset:"no TLS"`
	// TLSKeyFile is the private key of tls_cert_file, in PEM.
	TLSKeyFile string `yaml:"tls_key_file" restart:"to turn TLS on or off"`
	// TLSClientCAFile contains the certificate authorities, in PEM, for credentials of kind mtls.
	TLSClientCAFile string `yaml:"tls_client_ca_file" restart:"to turn TLS on or off"`
	// ExternalURL is the public address of the dashboard. Messages in Slack link to it: to the form for a silence, and to the drops.
	ExternalURL string `yaml:"external_url" format:"url" unset:"messages have no such links"`
	// Drain is how long the relay still accepts webhooks after SIGTERM, while `/readyz` already answers 503.
	Drain time.Duration `yaml:"drain" initial:"5s" min:"0s" max:"10m"`

	// RedisURL is the Redis server, as `redis://user:password@host:6379/0`, or `rediss://` for TLS.
	RedisURL     Secret `yaml:"redis_url" restart:"true" section:"Redis" unset:"state is kept in memory, unless redis_addrs is set"`
	RedisURLFile string `yaml:"redis_url_file" restart:"true"`
	// RedisAddrs are the addresses, host:port, of Redis Cluster nodes or of Sentinels. They replace redis_url.
	RedisAddrs []string `yaml:"redis_addrs" format:"address" restart:"true"`
	// RedisMasterName is the name of the master that the Sentinels in redis_addrs monitor.
	RedisMasterName string `yaml:"redis_master_name" restart:"true"`
	// RedisCluster declares that redis_addrs are nodes of a Redis Cluster.
	RedisCluster bool `yaml:"redis_cluster" restart:"true"`
	// RedisTLS turns on TLS to redis_addrs. With redis_url, write `rediss://` instead.
	RedisTLS bool `yaml:"redis_tls" restart:"true"`
	// RedisCAFile contains the certificate authorities, in PEM, that sign the certificates of Redis. TLS must be on.
	RedisCAFile string `yaml:"redis_ca_file" restart:"true" unset:"the authorities of the system"`
	// RedisCertFile is the client certificate, in PEM, for a Redis that asks for one. TLS must be on. The relay reads the file
	// again for each connection, so that a renewed certificate needs no restart.
	RedisCertFile string `yaml:"redis_cert_file" restart:"true" unset:"no client certificate"`
	// RedisKeyFile is the private key of redis_cert_file, in PEM.
	RedisKeyFile string `yaml:"redis_key_file" restart:"true"`
	// RedisUsername is the user name for Redis. It takes precedence over the one in redis_url.
	RedisUsername string `yaml:"redis_username" restart:"true"`
	// RedisPassword is the password for Redis. It takes precedence over the one in redis_url.
	RedisPassword     Secret `yaml:"redis_password" restart:"true"`
	RedisPasswordFile string `yaml:"redis_password_file" restart:"true"`
	// RedisWaitReplicas is the number of Redis replicas that must confirm an admission before the relay answers the sender.
	RedisWaitReplicas int64 `yaml:"redis_wait_replicas" min:"0" max:"10000" restart:"true"`
	// RedisTimeout is the longest that one call of the limiter to Redis may take before Redis counts as unavailable.
	RedisTimeout time.Duration `yaml:"redis_timeout" initial:"1s" min:"10ms" max:"30s" restart:"true"`
	// Replicas is the number of relays that share the limits while Redis is away (`on_redis_down: local`).
	Replicas int64 `yaml:"replicas" min:"0" max:"10000" restart:"true" unset:"as many as the relay knows of"`
	// Dedupe is how long the relay remembers the id of an admitted event. A repeat within this time is a duplicate.
	Dedupe time.Duration `yaml:"dedupe" initial:"1h" min:"1s" max:"744h" restart:"true"`
	// Lease is how long it takes until another replica serves the channels of one that died. It must be longer than
	// slack_timeout.
	Lease time.Duration `yaml:"lease" initial:"10s" restart:"true"`

	// SlackToken is the bot token. It needs the scope `chat:write`, and `channels:history` to look up messages.
	SlackToken     Secret `yaml:"slack_token" section:"Slack" unset:"messages are printed on the console"`
	SlackTokenFile string `yaml:"slack_token_file"`
	// SlackAppToken is the app-level token, which begins with `xapp-`. It turns on Socket Mode: clicks and commands arrive over
	// connections that the relay opens.
	SlackAppToken     Secret `yaml:"slack_app_token" unset:"no sockets"`
	SlackAppTokenFile string `yaml:"slack_app_token_file"`
	// SlackSigningSecret is the app's signing secret. It turns on `POST /slack/interactions` and `POST /slack/commands` on the
	// webhook listener, for clicks and commands without Socket Mode.
	SlackSigningSecret     Secret `yaml:"slack_signing_secret" unset:"both are answered 404"`
	SlackSigningSecretFile string `yaml:"slack_signing_secret_file"`
	// SlackAPIURL is the base URL of the Slack Web API: `https://slack-gov.com/api/` for GovSlack, or that of a gateway. On other
	// servers than Slack's, no limits of Slack apply.
	SlackAPIURL string `yaml:"slack_api_url" format:"url" unset:"Slack's own"`
	// SlackTimeout is the longest that one request to Slack may take.
	SlackTimeout time.Duration `yaml:"slack_timeout" initial:"5s" min:"10ms" max:"1m"`
	// SlackLookupDelay is how long after an attempt with an unknown result the relay looks the message up in Slack. It looks a
	// second time after twice that.
	SlackLookupDelay time.Duration `yaml:"slack_lookup_delay" formerly:"slack_settle" initial:"10s" min:"0s" max:"10m" unset:"never"`
	// SlackPostsPerMinute is the number of messages that each bot token may post in a minute, over all channels and replicas. Half of
	// them may be posted at once.
	SlackPostsPerMinute int64 `yaml:"slack_posts_per_minute" min:"0" max:"1000000" unset:"300, Slack's limit; none on another server"`
	// SlackEditsPerMinute is the number of messages that each bot token may edit in a minute.
	SlackEditsPerMinute int64 `yaml:"slack_edits_per_minute" min:"0" max:"1000000" unset:"50, Slack's limit; none on another server"`
	// SlackLookupsPerMinute is the number of messages that each bot token may look up in a minute.
	SlackLookupsPerMinute int64 `yaml:"slack_lookups_per_minute" min:"0" max:"1000000" unset:"50, Slack's limit; none on another server"`
	// DeadLetters is the number of messages that each channel keeps after Slack rejected them permanently.
	DeadLetters int64 `yaml:"dead_letters" initial:"1000" min:"1" max:"100000" restart:"true"`

	// OperationsSlackChannel is the Slack channel, for the bot token, that the relay alerts when one of its channels is stuck, a
	// token is refused or dead letters pile up.
	OperationsSlackChannel string `yaml:"operations_slack_channel" section:"Self-monitoring" unset:"none, or operations_webhook_url"`
	// OperationsWebhookURL is a URL that accepts `{"text": "..."}`, in Slack or elsewhere. It replaces operations_slack_channel.
	OperationsWebhookURL     Secret `yaml:"operations_webhook_url" format:"url"`
	OperationsWebhookURLFile string `yaml:"operations_webhook_url_file"`
	// CanaryInterval is the time between two canaries: test messages that take the whole way to Slack.
	CanaryInterval time.Duration `yaml:"canary_interval" min:"1s" max:"24h" unset:"no canaries"`
	// CanaryWithin is the longest that a canary may take to arrive before the relay alerts the operations channel.
	CanaryWithin time.Duration `yaml:"canary_within" initial:"1m" min:"1s" max:"24h" when:"canary_interval"`
	// CanarySlackChannel is the Slack channel, for the bot token, that canaries are posted to.
	CanarySlackChannel string `yaml:"canary_slack_channel"`
	// CanaryWebhookURL is the incoming webhook that canaries are posted to. It replaces canary_slack_channel.
	CanaryWebhookURL     Secret `yaml:"canary_webhook_url" format:"url"`
	CanaryWebhookURLFile string `yaml:"canary_webhook_url_file"`

	// MaxBody is the largest body of a webhook, in bytes, both as it arrives and unpacked. A larger one is refused.
	MaxBody int64 `yaml:"max_body" initial:"1048576" min:"1" max:"67108864" section:"Limits on webhooks"`
	// MaxEvents is the largest number of events in a webhook. A webhook with more is refused.
	MaxEvents int64 `yaml:"max_events" initial:"1000" min:"1" max:"100000"`
	// MaxDepth is how deep the JSON of a webhook may be nested. A webhook that is nested deeper is refused.
	MaxDepth int64 `yaml:"max_depth" initial:"100" min:"1" max:"10000"`
	// MaxTitle is the largest number of characters in the title of an event. The rest is cut off.
	MaxTitle int64 `yaml:"max_title" initial:"1000" min:"1" max:"1000000"`
	// MaxText is the largest number of characters in the text of an event. The rest is cut off.
	MaxText int64 `yaml:"max_text" initial:"12000" min:"1" max:"1000000"`
	// MaxLabel is the largest number of characters in a label of an event. The rest is cut off.
	MaxLabel int64 `yaml:"max_label" initial:"1000" min:"1" max:"1000000"`
	// MaxLabels is the largest number of labels of an event. The others are left out.
	MaxLabels int64 `yaml:"max_labels" initial:"64" min:"1" max:"10000"`
	// MaxEvent is the largest event that is stored, in bytes. A larger one is stored as shortened plain text.
	MaxEvent int64 `yaml:"max_event" initial:"32768" min:"8192" max:"262144"`
	// MaxInFlight is the largest number of bytes of bodies in flight, over all requests. Beyond it, requests are answered 503.
	// It must be at least four times max_body.
	MaxInFlight int64 `yaml:"max_in_flight" max:"17179869184" unset:"64 MiB, or four times max_body if that is more"`
	// MaxConcurrent is the largest number of concurrent webhooks from one address. Beyond it, requests are answered 503.
	MaxConcurrent int64 `yaml:"max_concurrent" initial:"256" min:"1" max:"100000"`
	// ReadTimeout is the longest that a request may take to arrive. Its headers may take a third of that.
	ReadTimeout time.Duration `yaml:"read_timeout" initial:"15s" min:"100ms" max:"10m" restart:"true"`
	// TestLane accepts webhooks with `?test=1`. They reach the same Slack channel with limits of their own. If it is off, they
	// are answered 403.
	TestLane bool `yaml:"test_lane" initial:"true"`

	// LogLevel is the lowest level of log messages that are written.
	LogLevel string `yaml:"log_level" initial:"info" oneof:"debug,info,warn,error" restart:"true" section:"Logs, metrics and traces"`
	// LogFormat is the format of log messages.
	LogFormat string `yaml:"log_format" initial:"text" oneof:"text,json" restart:"true"`
	// LogBurst is the number of log messages a second with the same text and channel. Of the others, one in a hundred is
	// written. For refused requests it is a strict limit over all channels.
	LogBurst int64 `yaml:"log_burst" initial:"20" min:"0" max:"1000000" restart:"true" unset:"all are written"`
	// MetricsChannels is the number of channels with metric series of their own. If there are more channels, those with events
	// within the last hour have theirs, and the others are summed under `channel="other"`.
	MetricsChannels int64 `yaml:"metrics_channels" initial:"1000" min:"1" max:"1000000" restart:"true"`
	// OtlpEndpoint is the URL of an OpenTelemetry collector that accepts traces as OTLP over HTTP.
	OtlpEndpoint string `yaml:"otlp_endpoint" format:"url" restart:"true" unset:"no traces"`
	// OtlpHeaders are the headers that are sent with traces, as `name=value,name=value`.
	OtlpHeaders     Secret `yaml:"otlp_headers" restart:"true"`
	OtlpHeadersFile string `yaml:"otlp_headers_file" restart:"true"`
	// TraceRatio is the share of webhooks that are traced. A sender that traces too decides for its own webhooks.
	TraceRatio float64 `yaml:"trace_ratio" initial:"1" min:"0" max:"1" restart:"true"`
	// DecisionLog is where the relay writes the outcome of every event as a line of JSON: `stdout`, the path of a file, or an https
	// URL that accepts batches. A URL on a loopback address may be http.
	DecisionLog string `yaml:"decision_log" restart:"true" unset:"no decision log"`
	// DecisionLogHeader is a header that is sent to the URL in decision_log, as `name: value`, for example with a token.
	DecisionLogHeader     Secret `yaml:"decision_log_header" restart:"true"`
	DecisionLogHeaderFile string `yaml:"decision_log_header_file" restart:"true"`

	// Sources are body formats of your own.
	Sources []events.Mapping `yaml:"sources" section:"Channels and what they share"`
	// Schedules are times that rules refer to by name.
	Schedules []Schedule `yaml:"schedules"`
	// Heartbeats are regular signs of life of senders. If one is missing, the relay posts that.
	Heartbeats []Heartbeat `yaml:"heartbeats"`
	// Inhibitions mute alerts while others fire.
	Inhibitions []Inhibition `yaml:"inhibitions"`
	// Channels are the destinations. Without a file and without RELAY_CHANNELS, there is one, named default.
	Channels []Channel `yaml:"channels"`
}
