{{/* Generated from the option structs of configs/ by: go test ./configs -update */}}

{{/* The settings of a channel that become variables. */}}
{{- define "relay.settings" -}}
SLACK_CHANNEL FALLBACK_SLACK_CHANNEL GLOBAL_LIMIT CATEGORY_LIMIT WINDOW GLOBAL_WINDOW CATEGORY_WINDOW OVERFLOW MAX_DELAYED MAX_DELAY ON_REDIS_DOWN LIMIT_GROUP PACE BURST TTL BUNDLE RESOLVES REPEATS HOLD REMEMBER_POSTED ON_UNKNOWN DIGEST DIGEST_INTERVAL DIGEST_MINIMUM DROP_RECORD ALLOW_MENTIONS TEMPLATE_TITLE TEMPLATE_TEXT ALLOW_FROM RESOLVE_TIMEOUT
{{- end -}}

{{/* The settings of a channel that become keys of the Secret. */}}
{{- define "relay.secrets" -}}
SLACK_WEBHOOK_URL FALLBACK_WEBHOOK_URL INGRESS_TOKEN
{{- end -}}
