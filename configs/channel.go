package configs

import (
	"time"

	"slackrelay/events"
)

// Channel is a named destination with its limits: one Slack channel or one incoming webhook. Get one from
// [DefaultChannel]; the zero value is not valid.
type Channel struct {
	// Name is the name of the channel. Senders post to `/hooks/<name>`. A name with a placeholder, for example `team-{{team}}`,
	// makes the entry a template: each value of the label, or annotation, of that name gets a channel of its own.
	Name string `yaml:"name" format:"channel" variable:"none"`

	// Values is the regular expression that a value must match as a whole to get a channel. Values are put in lower case, and
	// other characters than a-z and 0-9 become `-`, before they are compared.
	Values string `yaml:"values,omitempty" section:"Templates" variable:"none" unset:"[a-z0-9-]{1,40}"`
	// MaxChannels is the largest number of channels that a template makes.
	MaxChannels int64 `yaml:"max_channels,omitempty" min:"1" max:"10000" variable:"none" unset:"200"`
	// Fallback is the name of the channel that gets the events of a template without a valid value, and those beyond max_channels.
	Fallback string `yaml:"fallback,omitempty" variable:"none"`
	// ForgetAfter is how long a channel of a template is kept after its last event, if it has nothing to send or to show.
	ForgetAfter time.Duration `yaml:"forget_after,omitempty" min:"2h" max:"8784h" variable:"none" unset:"168h"`

	// SlackChannel is the id (C0123ABCD) or the name of a Slack channel, for the bot token. In a template, it may contain the
	// placeholder.
	SlackChannel string `yaml:"slack_channel" section:"Destination"`
	// SlackToken is the bot token of this channel, for a workspace or an app of its own. It takes precedence over the slack_token
	// above the channels. Channels with the same token share its limits, and a token that Slack refuses stops only them.
	SlackToken     Secret `yaml:"slack_token" unset:"the slack_token above the channels"`
	SlackTokenFile string `yaml:"slack_token_file"`
	// SlackAPIURL is the base URL of the Slack Web API for this channel, if it differs from the slack_api_url above the channels.
	SlackAPIURL string `yaml:"slack_api_url" format:"url" unset:"the slack_api_url above the channels"`
	// SlackAppToken is the app-level token of the channel's app. It replaces the one at the top level.
	SlackAppToken     Secret `yaml:"slack_app_token" unset:"that of the top level"`
	SlackAppTokenFile string `yaml:"slack_app_token_file"`
	// SlackSigningSecret is the signing secret of the channel's app. It replaces the one at the top level.
	SlackSigningSecret     Secret `yaml:"slack_signing_secret" unset:"that of the top level"`
	SlackSigningSecretFile string `yaml:"slack_signing_secret_file"`
	// SlackWebhookURL is an incoming webhook of Slack, Mattermost or Rocket.Chat. It replaces the bot token and slack_channel.
	SlackWebhookURL     Secret `yaml:"slack_webhook_url" format:"url"`
	SlackWebhookURLFile string `yaml:"slack_webhook_url_file"`
	// FallbackSlackChannel is the Slack channel, for the bot token, that gets the messages that the destination rejects
	// permanently.
	FallbackSlackChannel string `yaml:"fallback_slack_channel" unset:"dead letters only, unless fallback_webhook_url is set"`
	// FallbackWebhookURL is an incoming webhook that replaces fallback_slack_channel.
	FallbackWebhookURL     Secret `yaml:"fallback_webhook_url" format:"url"`
	FallbackWebhookURLFile string `yaml:"fallback_webhook_url_file"`

	// GlobalLimit is the number of events that the channel admits within its window, over all replicas.
	GlobalLimit int64 `yaml:"global_limit" initial:"100" min:"1" max:"1000000" section:"Limits"`
	// CategoryLimit is the number of events that the channel admits within the window for each category.
	CategoryLimit int64 `yaml:"category_limit" initial:"10" min:"1" max:"1000000"`
	// Window is the length of the rolling window of both limits.
	Window time.Duration `yaml:"window" initial:"30m" min:"1ms" max:"744h"`
	// GlobalWindow is the window of global_limit, if it differs from window.
	GlobalWindow time.Duration `yaml:"global_window" min:"1ms" max:"744h" unset:"the same as window"`
	// CategoryWindow is the window of category_limit, if it differs from window.
	CategoryWindow time.Duration `yaml:"category_window" min:"1ms" max:"744h" unset:"the same as window"`
	// Overflow is what happens to an event that exceeds a limit. drop: it is dropped and counted; delay: it waits until it fits;
	// merge: it is counted on the last message of its category (bot token only).
	Overflow string `yaml:"overflow" initial:"drop" oneof:"drop,delay,merge"`
	// MaxDelayed is the largest number of events that wait, with `overflow: delay`.
	MaxDelayed int64 `yaml:"max_delayed" initial:"1000" min:"1" max:"100000" when:"overflow=delay"`
	// MaxDelay is the longest that an event waits, with `overflow: delay`.
	MaxDelay time.Duration `yaml:"max_delay" initial:"1h" min:"1s" max:"744h" when:"overflow=delay"`
	// OnRedisDown is what happens while Redis is away. local: each replica admits its share of the limits; closed: webhooks are
	// answered 503 and senders retry; open: everything is admitted.
	OnRedisDown string `yaml:"on_redis_down" initial:"local" oneof:"local,closed,open"`
	// LimitGroup is the name of a group of channels that share one channel level.
	LimitGroup string `yaml:"limit_group" format:"name" unset:"the channel has its own"`
	// Levels are further levels of limits. A level named channel or category replaces the one above.
	Levels []Level `yaml:"levels"`
	// FirstNotice reserves slots of the channel for categories that have been quiet.
	FirstNotice FirstNotice `yaml:"first_notice"`
	// Reserves reserve slots of the channel for named categories.
	Reserves []Reserve `yaml:"reserves"`
	// Headroom limits the share of the channel that a severity may use.
	Headroom []Headroom `yaml:"headroom"`

	// Pace is the time between two messages to Slack. It delays messages and never drops one. For an incoming webhook of Mattermost
	// or Rocket.Chat, the default is no delay.
	Pace time.Duration `yaml:"pace" initial:"1s" min:"0s" max:"1h" section:"Messages" unset:"no delay"`
	// Burst is the number of messages that may be sent at once.
	Burst int64 `yaml:"burst" initial:"3" min:"1" max:"1000000"`
	// TTL is the longest that a message may wait to be sent. Older messages expire, and the digest names them.
	TTL time.Duration `yaml:"ttl" initial:"1h" min:"0s" max:"744h" unset:"messages never expire"`
	// Bundle is which events become one message that uses one slot. auto: with the bot token, those of a group, as Alertmanager
	// and Grafana send them; what a later webhook adds to the group joins the message while one of its alerts is firing.
	// webhook: those of one webhook with the same category. off: each event is a message.
	Bundle string `yaml:"bundle" initial:"auto" oneof:"auto,webhook,off"`
	// Resolves is what happens when an alert is resolved that was posted. post: a message of its own; reply: a reply in the
	// thread of the alert; edit: the alert is edited, without using a slot (reply and edit: bot token only). auto: edit with the
	// bot token, otherwise post.
	Resolves string `yaml:"resolves" initial:"auto" oneof:"auto,post,reply,edit"`
	// Repeats is what happens when an alert fires again that was posted. post: a message of its own; merge: it is counted on the
	// first message (bot token only). auto: merge with the bot token, otherwise post.
	Repeats string `yaml:"repeats" initial:"auto" oneof:"auto,post,merge"`
	// Hold is how long a firing waits before it is posted. If it resolves within this time, neither is posted. Rules may set
	// another time.
	Hold time.Duration `yaml:"hold" min:"0s" max:"24h" unset:"not at all"`
	// Flapping quiets alerts that change between firing and resolved all the time.
	Flapping Flapping `yaml:"flapping"`
	// RemindAfter is how long after its post people are reminded of a message whose alerts still fire and that nobody acknowledged
	// or muted.
	RemindAfter time.Duration `yaml:"remind_after" min:"1s" max:"168h" unset:"nobody is reminded"`
	// RemindEvery is the time between two reminders of the same message, of which there are 10 at most.
	RemindEvery time.Duration `yaml:"remind_every" min:"1s" max:"168h" unset:"one reminder for each message"`
	// RemindMention is whom reminders mention: here, channel, everyone, or the id of a user (U0123) or a user group (S0123).
	RemindMention string `yaml:"remind_mention" unset:"whom mentions names for the severity"`
	// RemindIn is where people are reminded. thread: a reply to the message, which uses no slot (bot token only); channel: the alerts
	// that still fire are posted again, within the limits. auto: thread with the bot token, otherwise channel.
	RemindIn string `yaml:"remind_in" initial:"auto" oneof:"auto,thread,channel" when:"remind_after"`
	// RemindSeverity is the lowest severity of the alerts that people are reminded of.
	RemindSeverity string `yaml:"remind_severity" initial:"info" oneof:"critical,error,warning,info" when:"remind_after"`
	// RememberPosted is how long the relay remembers a posted alert, for resolves and repeats.
	RememberPosted time.Duration `yaml:"remember_posted" initial:"72h" min:"1m" max:"744h"`
	// OnUnknown is what happens to a message that may or may not have been posted, if it cannot be looked up. retry: it is sent
	// again and may appear twice; drop: it goes to the dead letters and may be missing.
	OnUnknown string `yaml:"on_unknown" initial:"retry" oneof:"retry,drop"`
	// Unknown overrides on_unknown for single severities.
	Unknown []Unknown `yaml:"unknown"`

	// Digest turns on messages that summarise what was dropped or expired.
	Digest bool `yaml:"digest" initial:"true" section:"Digest and drops"`
	// DigestInterval is the time that one digest covers.
	DigestInterval time.Duration `yaml:"digest_interval" min:"1s" max:"744h" unset:"the window of the channel"`
	// DigestMinimum is the smallest number of events that a digest is posted for.
	DigestMinimum int64 `yaml:"digest_minimum" initial:"1" min:"1" max:"1000000"`
	// DropRecord is the number of dropped events that the channel keeps for `relay drops`.
	DropRecord int64 `yaml:"drop_record" initial:"10000" min:"0" max:"100000"`

	// Mentions notify people about events of a severity.
	Mentions []Mention `yaml:"mentions" section:"Text"`
	// AllowMentions lets the text of a sender mention people. If it is off, `<!here>` is shown as it is written.
	AllowMentions bool `yaml:"allow_mentions"`
	// TemplateTitle is a Go template for the title of messages.
	TemplateTitle string `yaml:"template_title" unset:"the title of the event"`
	// TemplateText is a Go template for the text of messages.
	TemplateText string `yaml:"template_text" unset:"the text of the event"`

	// IngressToken is the bearer token that senders must present.
	IngressToken     Secret `yaml:"ingress_token" section:"Senders"`
	IngressTokenFile string `yaml:"ingress_token_file"`
	// Auth are further credentials. A sender needs one of them, or ingress_token.
	Auth []Credential `yaml:"auth"`
	// AllowFrom are the addresses and ranges that may send.
	AllowFrom []string `yaml:"allow_from" format:"networks" unset:"all"`
	// ResolveTimeout is how long an alert fires that is posted with Alertmanager's API without an end, unless it is posted again.
	ResolveTimeout time.Duration `yaml:"resolve_timeout" initial:"5m" min:"10s" max:"744h"`
	// OnDrop lists the sources that are answered 429 instead of 202 when all events of a webhook were dropped.
	OnDrop []OnDrop `yaml:"on_drop"`

	// Rules classify events before the limits apply. The first rule that matches decides, unless it continues.
	Rules []events.Rule `yaml:"rules" section:"Rules"`
	// RuleTests are sample webhooks with the result that the rules must have. They run at each start and in `relay check`.
	RuleTests []RuleTest `yaml:"rule_tests"`
}
