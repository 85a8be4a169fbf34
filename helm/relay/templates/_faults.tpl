{{/* The faults of the values, one to a line: value, fault, remedy. */}}
{{- define "relay.faults" -}}
{{- include "relay.configFaults" . }}
{{- include "relay.channelFaults" . }}
{{- include "relay.durationFaults" . }}
{{- include "relay.environmentFaults" . }}
{{- include "relay.secretFaults" . }}
{{- include "relay.redisFaults" . }}
{{- include "relay.bundledRedisFaults" . }}
{{- include "relay.podFaults" . }}
{{- include "relay.networkFaults" . }}
{{- end -}}

{{- define "relay.configFaults" -}}
{{- $config := fromYaml (.Values.config | default "{}") }}
{{- with get $config "Error" }}
config: it is not valid YAML: {{ . | replace "\n" " " }}; correct the file
{{- end }}
{{- range fromYamlArray (include "relay.ownEnvironment" (dict "root" . "config" "x")) }}
{{- $setting := trimPrefix "RELAY_" .name | lower }}
{{- if and (hasKey $config $setting) (ne $setting "channels") }}
config: {{ $setting }} has no effect here, because the chart sets {{ .name }} from a value of its own; use that value instead
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.channelFaults" -}}
{{- $seen := dict }}
{{- range $i, $c := .Values.channels }}
{{- if hasKey $seen $c.name }}
channels[{{ $i }}].name: {{ $c.name | quote }} is the name of channels[{{ get $seen $c.name }}] too; use another name
{{- end }}
{{- $_ := set $seen $c.name $i }}
{{- if and $c.slackChannel $c.slackWebhookURL }}
channels[{{ $i }}].slackChannel: it cannot be combined with slackWebhookURL; keep one
{{- end }}
{{- range $line := splitList "\n" (include "relay.channelDurations" $) }}
{{- $key := index (splitList " " $line) 0 }}
{{- if hasKey $c $key }}
{{- include "relay.durationFault" (dict "path" (printf "channels[%d].%s" $i $key) "value" (get $c $key) "line" $line) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.durationFaults" -}}
{{- $values := dict "drain" (list "drain" .Values.drain) "canary_interval" (list "canary.interval" .Values.canary.interval)
  "canary_within" (list "canary.within" .Values.canary.within) "redis_timeout" (list "redis.timeout" .Values.redis.timeout) }}
{{- range $line := splitList "\n" (include "relay.durations" .) }}
{{- with get $values (index (splitList " " $line) 0) }}
{{- include "relay.durationFault" (dict "path" (index . 0) "value" (index . 1) "line" $line) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The fault of one duration: (dict "path" "value" "line" its bounds, from relay.durations). */}}
{{- define "relay.durationFault" -}}
{{- $bounds := splitList " " .line }}
{{- $low := index $bounds 1 }}
{{- $high := index $bounds 2 }}
{{- if not (regexMatch "^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$" (toString .value)) }}
{{ .path }}: {{ toString .value | quote }} is not a duration; use a unit, for example 30m
{{- else }}
{{- $seconds := include "relay.seconds" .value | float64 }}
{{- $isZero := and (eq $seconds 0.0) (eq (index $bounds 3) "zero") }}
{{- $tooLow := and (ne $low "-") (not $isZero) (lt $seconds (include "relay.seconds" $low | float64)) }}
{{- $tooHigh := and (ne $high "-") (gt $seconds (include "relay.seconds" $high | float64)) }}
{{- if or $tooLow $tooHigh }}
{{ .path }}: {{ .value }} is out of range; use {{ $low }} to {{ $high }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.environmentFaults" -}}
{{- $own := dict }}
{{- range fromYamlArray (include "relay.ownEnvironment" (dict "root" . "config" "x")) }}
{{- $_ := set $own .name true }}
{{- end }}
{{- range $name, $_ := fromYaml (include "relay.secretValues" .) }}
{{- $_ := set $own $name true }}
{{- end }}
{{- range $name, $value := .Values.env }}
{{- if hasKey $own $name }}
env.{{ $name }}: the chart sets this variable from a value of its own; use that value and remove this entry
{{- end }}
{{- end }}
{{- end -}}

{{/* existingSecret takes the place of all secrets among the values. */}}
{{- define "relay.secretFaults" -}}
{{- $secret := .Values.existingSecret }}
{{- if $secret }}
{{- range $path, $value := dict "slackToken" .Values.slackToken "slackAppToken" .Values.slackAppToken
  "slackSigningSecret" .Values.slackSigningSecret "adminToken" .Values.adminToken "redisURL" .Values.redisURL
  "redisPassword" .Values.redisPassword "operations.webhookURL" .Values.operations.webhookURL "canary.webhookURL" .Values.canary.webhookURL
  "traces.headers" .Values.traces.headers }}
{{- if $value }}
{{ $path }}: it must not be in values when existingSecret is set; put it in the Secret {{ $secret }}
{{- end }}
{{- end }}
{{- range $i, $c := .Values.channels }}
{{- range $setting := splitList " " (include "relay.secrets" $) }}
{{- $key := include "relay.valueName" $setting }}
{{- if hasKey $c $key }}
channels[{{ $i }}].{{ $key }}: {{ $key }} must not be in values when existingSecret is set; put it in the Secret {{ $secret }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.redisPassword .Values.redis.passwordSecret.name }}
redisPassword: it cannot be combined with redis.passwordSecret.name; keep one
{{- end }}
{{- end -}}

{{/* Whether the values name a Redis, as far as they show it: existingSecret and envFrom may contain it. */}}
{{- define "relay.hasRedis" -}}
{{- $config := fromYaml (.Values.config | default "{}") -}}
{{- if or .Values.bundledRedis.enabled .Values.redis.addrs .Values.redisURL .Values.existingSecret .Values.envFrom
  $config.redis_url $config.redis_url_file $config.redis_addrs
  .Values.env.RELAY_REDIS_URL .Values.env.RELAY_REDIS_URL_FILE .Values.env.RELAY_REDIS_ADDRS -}}true{{- end -}}
{{- end -}}

{{- define "relay.redisFaults" -}}
{{- $replicas := .Values.autoscaling.enabled | ternary .Values.autoscaling.maxReplicas .Values.replicaCount | int }}
{{- if and (gt $replicas 1) (not (include "relay.hasRedis" .)) }}
{{ .Values.autoscaling.enabled | ternary "autoscaling.maxReplicas" "replicaCount" }}: {{ $replicas }} replicas need a Redis that they share; set redisURL, redis.addrs or bundledRedis.enabled, or use 1
{{- end }}
{{- with .Values.redis }}
{{- if and .addrs $.Values.redisURL }}
redis.addrs: it cannot be combined with redisURL; keep one
{{- end }}
{{- if and (gt (len .addrs) 1) (not .cluster) (not .masterName) }}
redis.addrs: it lists several servers; set redis.cluster, or redis.masterName for Sentinels
{{- end }}
{{- if and .cluster .masterName }}
redis.masterName: it cannot be combined with redis.cluster; keep the one that redis.addrs belong to
{{- end }}
{{- if and (not .addrs) (or .cluster .masterName .tls) }}
redis.addrs: it is empty; redis.cluster, redis.masterName and redis.tls need it
{{- end }}
{{- if and (or .caSecret .certificateSecret) (not .tls) $.Values.redisURL (not (hasPrefix "rediss:" $.Values.redisURL)) }}
redisURL: it does not use TLS, which redis.caSecret and redis.certificateSecret need; begin it with rediss://
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.bundledRedisFaults" -}}
{{- with .Values.bundledRedis }}
{{- if .enabled }}
{{- range $path, $value := dict "redis.addrs" $.Values.redis.addrs "redisURL" $.Values.redisURL }}
{{- if $value }}
{{ $path }}: it names another Redis than bundledRedis; leave one of them out
{{- end }}
{{- end }}
{{- if $.Values.redis.username }}
redis.username: the Redis of bundledRedis has the default user only; leave it empty
{{- end }}
{{- if $.Values.redis.waitReplicas }}
redis.waitReplicas: the Redis of bundledRedis has no replica to wait for; use 0
{{- end }}
{{- if or $.Values.redis.caSecret $.Values.redis.certificateSecret }}
redis.caSecret: the Redis of bundledRedis does not use TLS; leave redis.caSecret and redis.certificateSecret empty
{{- end }}
{{- if not (or $.Values.redisPassword $.Values.redis.passwordSecret.name $.Values.existingSecret) }}
redisPassword: the Redis of bundledRedis needs one; set it, or redis.passwordSecret.name, or existingSecret with the key RELAY_REDIS_PASSWORD
{{- end }}
{{- $limit := dig "limits" "memory" "0" .resources | toString }}
{{- $bytes := include "relay.bytes" $limit | int64 }}
{{- if and $bytes (gt (include "relay.bytes" .maxMemory | int64) (div (mul $bytes 3) 4)) }}
bundledRedis.maxMemory: {{ .maxMemory }} is more than three quarters of the memory of the pod, {{ $limit }}; use half of it, or raise bundledRedis.resources.limits.memory
{{- end }}
{{- with lookup "apps/v1" "StatefulSet" $.Release.Namespace (include "relay.redisName" $) }}
{{- $spec := (index .spec.volumeClaimTemplates 0).spec }}
{{- if ne $spec.resources.requests.storage $.Values.bundledRedis.size }}
bundledRedis.size: it was {{ $spec.resources.requests.storage }} at the installation and cannot be changed; keep that, or delete the StatefulSet {{ .metadata.name }} with --cascade=orphan first
{{- end }}
{{- if ne ($spec.storageClassName | default "") ($.Values.bundledRedis.storageClass | default $spec.storageClassName | default "") }}
bundledRedis.storageClass: it was {{ $spec.storageClassName }} at the installation and cannot be changed; keep that
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.podFaults" -}}
{{- $grace := int .Values.terminationGracePeriodSeconds }}
{{- $needed := include "relay.neededGrace" . | int }}
{{- if lt $grace $needed }}
terminationGracePeriodSeconds: {{ $grace }} is too short for preStopSeconds, drain, slack_timeout and redis.timeout; it must be {{ $needed }} at least, or pods are killed while they send messages
{{- end }}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString }}
{{- $bytes := include "relay.bytes" $limit | int64 }}
{{- $neededBytes := include "relay.neededMemory" . | int64 }}
{{- if and $bytes (lt $bytes $neededBytes) }}
resources.limits.memory: {{ $limit }} is too little for max_in_flight and max_body; use {{ ceil (divf $neededBytes 1048576) }}Mi at least, or lower them
{{- end }}
{{- with .Values.autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
autoscaling.minReplicas: {{ .minReplicas }} is more than maxReplicas, {{ .maxReplicas }}; use a smaller number
{{- end }}
{{- if and .enabled .targetCPUUtilizationPercentage (not (dig "requests" "cpu" "" $.Values.resources)) }}
autoscaling.targetCPUUtilizationPercentage: it is a share of resources.requests.cpu, which is not set; set it, or use targetCPU
{{- end }}
{{- end }}
{{- with .Values.canary }}
{{- $config := fromYaml ($.Values.config | default "{}") }}
{{- $elsewhere := or $.Values.existingSecret $.Values.envFrom $.Values.env.RELAY_CANARY_WEBHOOK_URL $.Values.env.RELAY_CANARY_WEBHOOK_URL_FILE
  $config.canary_slack_channel $config.canary_webhook_url $config.canary_webhook_url_file }}
{{- if and (ne (include "relay.seconds" .interval | float64) 0.0) (not (or .slackChannel .webhookURL $elsewhere)) }}
canary.interval: there is nowhere to send test messages to; set canary.slackChannel or canary.webhookURL
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.networkFaults" -}}
{{- with .Values.httpRoute }}
{{- if and .enabled (not .parentRefs) }}
httpRoute.parentRefs: it is empty; name the Gateway that the route belongs to
{{- end }}
{{- end }}
{{- with .Values.service }}
{{- if and .externalTrafficPolicy (eq .type "ClusterIP") }}
service.externalTrafficPolicy: a Service of type ClusterIP has none; use type LoadBalancer or NodePort
{{- end }}
{{- end }}
{{- if and .Values.tls.clientCertificates (not .Values.tls.secretName) }}
tls.clientCertificates: it needs TLS; set tls.secretName
{{- end }}
{{- end -}}
