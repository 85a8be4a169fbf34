{{/* The name that the objects of a release begin with. Services allow neither dots nor a digit at the beginning. */}}
{{- define "relay.fullname" -}}
{{- $name := include "relay.name" . -}}
{{- $full := .Values.fullnameOverride -}}
{{- if not $full -}}
{{- $full = contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- end -}}
{{- $full = replace "." "-" $full -}}
{{- regexMatch "^[0-9]" $full | ternary (printf "r%s" $full) $full | trunc 58 | trimSuffix "-" -}}
{{- end -}}

{{- define "relay.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "relay.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "relay.selectorLabels" -}}
app.kubernetes.io/name: {{ include "relay.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of pods. A label that changes with each version of the chart would restart them for nothing. */}}
{{- define "relay.podLabels" -}}
{{ include "relay.selectorLabels" . }}
app.kubernetes.io/component: relay
app.kubernetes.io/part-of: {{ .Chart.Name }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of objects that are no pods. A tag may have characters that a label may not. */}}
{{- define "relay.labels" -}}
{{ include "relay.podLabels" . }}
{{ include "relay.releaseLabels" . }}
{{- end -}}

{{- define "relay.releaseLabels" -}}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | regexFind "^[A-Za-z0-9][A-Za-z0-9._-]*" | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "relay.chart" . }}
{{- end -}}

{{/* The metadata of an object: (dict "root" $ "name" … "labels" (optional) "annotations" (optional)). */}}
{{- define "relay.metadata" -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Release.Namespace }}
labels:
  {{- $labels := fromYaml (include (.kind | default "relay.labels") .root) }}
  {{- toYaml (mergeOverwrite $labels (.labels | default dict)) | nindent 2 }}
{{- with mergeOverwrite (dict) .root.Values.commonAnnotations (.annotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "relay.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "relay.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The Secret whose keys are variables. It is not named as the release is: keys that an earlier version of the chart left in
     the Secret of that name would stay. */}}
{{- define "relay.secretName" -}}
{{- .Values.existingSecret | default (printf "%s-secrets" (include "relay.fullname" .)) -}}
{{- end -}}

{{/* The Redis of bundledRedis has a name of its own: the selector of the relay's Services must not match it. Kubernetes adds 11
     characters to the name of a StatefulSet and puts it into a label of at most 63. */}}
{{- define "relay.redisName" -}}
{{- $full := include "relay.fullname" . -}}
{{- if gt (len $full) 46 -}}
{{- $full = printf "%s-%s" ($full | trunc 39 | trimSuffix "-") (sha256sum $full | trunc 6) -}}
{{- end -}}
{{- $full -}}-redis
{{- end -}}

{{- define "relay.redisSelectorLabels" -}}
app.kubernetes.io/name: {{ include "relay.name" . }}-redis
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "relay.redisPodLabels" -}}
{{ include "relay.redisSelectorLabels" . }}
app.kubernetes.io/component: redis
app.kubernetes.io/part-of: {{ .Chart.Name }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "relay.redisLabels" -}}
{{ include "relay.redisPodLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "relay.chart" . }}
{{- end -}}

{{/* An image by its tag, or by its digest, which does not change: (dict "image" … "tag" the default). */}}
{{- define "relay.image" -}}
{{- $tag := .image.tag | default .tag -}}
{{- if .image.digest -}}
{{- printf "%s:%s@%s" .image.repository $tag .image.digest | quote -}}
{{- else -}}
{{- printf "%s:%s" .image.repository $tag | quote -}}
{{- end -}}
{{- end -}}

{{/* imagePullSecrets, whose entries may be names. */}}
{{- define "relay.pullSecrets" -}}
{{- range .Values.imagePullSecrets }}
{{- if kindIs "map" . }}
- name: {{ .name }}
{{- else }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}
