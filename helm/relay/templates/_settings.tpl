{{/* Generated from the option structs of configs/ by: go test ./configs -update */}}

{{/* The settings of a channel that become variables. */}}
{{- define "relay.settings" -}}
SLACK_CHANNEL SLACK_API_URL FALLBACK_SLACK_CHANNEL GLOBAL_LIMIT CATEGORY_LIMIT WINDOW GLOBAL_WINDOW CATEGORY_WINDOW OVERFLOW MAX_DELAYED MAX_DELAY ON_REDIS_DOWN LIMIT_GROUP PACE BURST TTL BUNDLE RESOLVES REPEATS HOLD REMIND_AFTER REMIND_EVERY REMIND_MENTION REMIND_IN REMIND_SEVERITY REMEMBER_POSTED ON_UNKNOWN DIGEST DIGEST_INTERVAL DIGEST_MINIMUM SILENCE_NOTICES DROP_RECORD ACTIONS OPERATORS ALLOW_MENTIONS TEMPLATE_TITLE TEMPLATE_TEXT ALLOW_FROM RESOLVE_TIMEOUT
{{- end -}}

{{/* The settings of a channel that become keys of the Secret. */}}
{{- define "relay.secrets" -}}
SLACK_TOKEN SLACK_APP_TOKEN SLACK_SIGNING_SECRET SLACK_WEBHOOK_URL FALLBACK_WEBHOOK_URL INGRESS_TOKEN
{{- end -}}

{{/* The settings at the top level of a configuration file that a running relay cannot change. */}}
{{- define "relay.restartSettings" -}}
listen ops_listen redis_url redis_url_file redis_addrs redis_master_name redis_cluster redis_tls redis_ca_file redis_cert_file redis_key_file redis_username redis_password redis_password_file redis_wait_replicas redis_timeout replicas dedupe lease dead_letters read_timeout log_level log_format log_burst metrics_channels otlp_endpoint otlp_headers otlp_headers_file trace_ratio decision_log decision_log_header decision_log_header_file
{{- end -}}

{{/* Durations: the name in values.yaml, the shortest and the longest, - where there is none, and whether 0s is one too. */}}
{{- define "relay.channelDurations" -}}
window 1ms 744h -
globalWindow 1ms 744h zero
categoryWindow 1ms 744h zero
maxDelay 1s 744h -
pace 0s 1h zero
ttl 0s 744h zero
hold 0s 24h zero
remindAfter 1s 168h zero
remindEvery 1s 168h zero
rememberPosted 1m 744h -
digestInterval 1s 744h zero
resolveTimeout 10s 744h -
{{- end -}}
{{- define "relay.durations" -}}
drain 0s 10m -
redis_timeout 10ms 30s -
dedupe 1s 744h -
lease - - -
slack_timeout 10ms 1m -
slack_lookup_delay 0s 10m zero
canary_interval 1s 24h zero
canary_within 1s 24h -
read_timeout 100ms 10m -
{{- end -}}
