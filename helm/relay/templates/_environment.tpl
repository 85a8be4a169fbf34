{{/* The variable of a channel's setting: RELAY_CHANNEL_<NAME>_<SETTING>. */}}
{{- define "relay.variable" -}}
{{- printf "RELAY_CHANNEL_%s_%s" (.channel.name | upper | replace "-" "_") .setting -}}
{{- end -}}

{{/* The name in values.yaml of a setting: globalLimit for GLOBAL_LIMIT. relay.settings and relay.secrets are in _settings.tpl. */}}
{{- define "relay.valueName" -}}
{{- . | lower | camelcase | untitle | replace "Url" "URL" -}}
{{- end -}}

{{/* The secrets among the values, as a map from variable to text. */}}
{{- define "relay.secretValues" -}}
{{- $all := dict
  "RELAY_REDIS_URL" .Values.redisURL "RELAY_REDIS_PASSWORD" .Values.redisPassword "RELAY_SLACK_TOKEN" .Values.slackToken
  "RELAY_SLACK_APP_TOKEN" .Values.slackAppToken "RELAY_SLACK_SIGNING_SECRET" .Values.slackSigningSecret
  "RELAY_ADMIN_TOKEN" .Values.adminToken "RELAY_OPERATIONS_WEBHOOK_URL" .Values.operations.webhookURL
  "RELAY_CANARY_WEBHOOK_URL" .Values.canary.webhookURL "RELAY_OTLP_HEADERS" .Values.traces.headers -}}
{{- range $c := .Values.channels -}}
{{- range $setting := splitList " " (include "relay.secrets" $) -}}
{{- $_ := set $all (include "relay.variable" (dict "channel" $c "setting" $setting)) (get $c (include "relay.valueName" $setting)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $all -}}
{{- if $value }}
{{ $name }}: {{ $value | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The same, encoded for the data of a Secret. Keys of stringData would stay in the Secret after they leave the values. */}}
{{- define "relay.secretData" -}}
{{- range $name, $value := fromYaml (include "relay.secretValues" .) }}
{{ $name }}: {{ $value | b64enc }}
{{- end -}}
{{- end -}}

{{/* Whether there is a Secret whose keys are variables. */}}
{{- define "relay.hasSecret" -}}
{{- if or .Values.existingSecret (include "relay.secretValues" . | trim) -}}true{{- end -}}
{{- end -}}

{{/* The variables that the chart sets: (dict "root" $ "config" the name of the ConfigMap). */}}
{{- define "relay.ownEnvironment" -}}
{{- with .root -}}
- {name: RELAY_LISTEN, value: ":8080"}
- {name: RELAY_OPS_LISTEN, value: ":9090"}
- {name: RELAY_DRAIN, value: {{ .Values.drain | quote }}}
- {name: RELAY_LOG_LEVEL, value: {{ .Values.logLevel | quote }}}
- {name: RELAY_LOG_FORMAT, value: {{ .Values.logFormat | quote }}}
- {name: RELAY_LOG_BURST, value: {{ include "relay.text" .Values.logBurst }}}
{{- with .Values.traces }}
{{- if .endpoint }}
- {name: RELAY_OTLP_ENDPOINT, value: {{ .endpoint | quote }}}
- {name: RELAY_TRACE_RATIO, value: {{ .ratio | quote }}}
{{- end }}
{{- end }}
{{- if .Values.allowUnauthenticated }}
- {name: RELAY_ALLOW_UNAUTHENTICATED, value: "true"}
{{- end }}
# By reference, so that another number of replicas does not restart those that run.
- name: RELAY_REPLICAS
  valueFrom:
    configMapKeyRef: {name: {{ $.config }}, key: replicas}
{{- if .Values.bundledRedis.enabled }}
- {name: RELAY_REDIS_URL, value: "redis://{{ include "relay.redisName" . }}:6379/0"}
{{- end }}
{{- with .Values.redis }}
{{- with .passwordSecret }}
{{- if .name }}
- name: RELAY_REDIS_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ .name }}, key: {{ .key }}}
{{- end }}
{{- end }}
{{- if .addrs }}
- {name: RELAY_REDIS_ADDRS, value: {{ join "," .addrs | quote }}}
- {name: RELAY_REDIS_MASTER_NAME, value: {{ .masterName | quote }}}
- {name: RELAY_REDIS_CLUSTER, value: {{ .cluster | quote }}}
- {name: RELAY_REDIS_TLS, value: {{ .tls | quote }}}
{{- end }}
{{- if .caSecret }}
- {name: RELAY_REDIS_CA_FILE, value: /etc/relay-redis-ca/ca.crt}
{{- end }}
{{- if .certificateSecret }}
- {name: RELAY_REDIS_CERT_FILE, value: /etc/relay-redis-certificate/tls.crt}
- {name: RELAY_REDIS_KEY_FILE, value: /etc/relay-redis-certificate/tls.key}
{{- end }}
{{- with .username }}
- {name: RELAY_REDIS_USERNAME, value: {{ . | quote }}}
{{- end }}
{{- if .waitReplicas }}
- {name: RELAY_REDIS_WAIT_REPLICAS, value: {{ .waitReplicas | quote }}}
{{- end }}
- {name: RELAY_REDIS_TIMEOUT, value: {{ .timeout | quote }}}
{{- end }}
{{- if .Values.config }}
- {name: RELAY_CONFIG, value: /etc/relay/relay.yaml}
{{- end }}
{{- with .Values.channels }}
- name: RELAY_CHANNELS
  value: {{ include "relay.channelNames" $.root | quote }}
{{- end }}
{{- range $c := .Values.channels }}
{{- range $setting := splitList " " (include "relay.settings" .) }}
{{- $key := include "relay.valueName" $setting }}
{{- if hasKey $c $key }}
- name: {{ include "relay.variable" (dict "channel" $c "setting" $setting) }}
  value: {{ include "relay.text" (get $c $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.operations.slackChannel }}
- {name: RELAY_OPERATIONS_SLACK_CHANNEL, value: {{ . | quote }}}
{{- end }}
{{- with .Values.externalURL }}
- {name: RELAY_EXTERNAL_URL, value: {{ . | quote }}}
{{- end }}
{{- with .Values.trustedProxies }}
- {name: RELAY_TRUSTED_PROXIES, value: {{ join "," . | quote }}}
{{- end }}
{{- with .Values.canary }}
{{- if ne (include "relay.seconds" .interval | float64) 0.0 }}
- {name: RELAY_CANARY_INTERVAL, value: {{ .interval | quote }}}
- {name: RELAY_CANARY_WITHIN, value: {{ .within | quote }}}
{{- with .slackChannel }}
- {name: RELAY_CANARY_SLACK_CHANNEL, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: RELAY_TLS_CERT_FILE, value: /etc/relay-tls/tls.crt}
- {name: RELAY_TLS_KEY_FILE, value: /etc/relay-tls/tls.key}
{{- if .Values.tls.clientCertificates }}
- {name: RELAY_TLS_CLIENT_CA_FILE, value: /etc/relay-tls/ca.crt}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* All variables of the container. */}}
{{- define "relay.environment" -}}
{{ include "relay.ownEnvironment" . }}
{{- range $name, $value := .root.Values.env }}
- name: {{ $name }}
  {{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
  {{- else }}
  value: {{ include "relay.text" $value }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "relay.channelNames" -}}
{{- $names := list -}}
{{- range .Values.channels -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{/* The data of the ConfigMap. */}}
{{- define "relay.configData" -}}
replicas: {{ ternary .Values.autoscaling.minReplicas .Values.replicaCount .Values.autoscaling.enabled | quote }}
{{- with .Values.config }}
relay.yaml: |
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}
