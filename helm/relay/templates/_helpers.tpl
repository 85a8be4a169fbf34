{{- define "relay.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 58 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 58 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "relay.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "relay.labels" -}}
{{ include "relay.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "relay.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "relay.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "relay.secretName" -}}
{{- .Values.existingSecret | default (include "relay.fullname" .) -}}
{{- end -}}

{{/* The Redis of bundledRedis has a name of its own: the selector of the relay's Services must not match it. */}}
{{- define "relay.redisName" -}}
{{- include "relay.fullname" . -}}-redis
{{- end -}}

{{- define "relay.redisSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-redis
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "relay.redisLabels" -}}
{{ include "relay.redisSelectorLabels" . }}
app.kubernetes.io/component: redis
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* A duration such as 1m30s in seconds, as a number with a fraction. */}}
{{- define "relay.seconds" -}}
{{- $units := dict "ns" 1e-9 "us" 1e-6 "µs" 1e-6 "ms" 1e-3 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- $total := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ns|us|µs|ms|s|m|h)" . -1 -}}
{{- $total = addf $total (mulf (regexFind "[0-9.]+" .) (get $units (regexFind "[a-zµ]+" .))) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{/* The longest that a pod may take to stop: at least preStop, drain, 10 s for requests in flight and 10 s for the message that is being sent. */}}
{{- define "relay.gracePeriod" -}}
{{- $needed := addf .Values.preStopSeconds (include "relay.seconds" .Values.drain) 20 | ceil | int -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) $needed -}}
{{- fail (printf "terminationGracePeriodSeconds is %d; with this preStopSeconds and drain it must be %d at least, or pods are killed while they send messages" (int .Values.terminationGracePeriodSeconds) $needed) -}}
{{- end -}}
{{- int .Values.terminationGracePeriodSeconds -}}
{{- end -}}

{{- define "relay.channelNames" -}}
{{- $names := list -}}
{{- range .Values.channels -}}
{{- $names = append $names (required "each channel needs a name" .name) -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{/* The variable of a channel's setting: RELAY_CHANNEL_<NAME>_<SETTING>. */}}
{{- define "relay.variable" -}}
{{- printf "RELAY_CHANNEL_%s_%s" (.channel.name | upper | replace "-" "_") .setting -}}
{{- end -}}

{{/* The name in values.yaml of a setting: globalLimit for GLOBAL_LIMIT. relay.settings and relay.secrets are in _settings.tpl. */}}
{{- define "relay.valueName" -}}
{{- . | lower | camelcase | untitle | replace "Url" "URL" -}}
{{- end -}}

{{/* A value as quoted text; the items of a list are separated by commas. Helm reads 1000000 as a float and would print 1e+06. */}}
{{- define "relay.text" -}}
{{- if kindIs "slice" . -}}
{{- join "," . | quote -}}
{{- else if and (kindIs "float64" .) (eq . (float64 (int64 .))) -}}
{{- int64 . | toString | quote -}}
{{- else -}}
{{- toString . | quote -}}
{{- end -}}
{{- end -}}
