{{/* The parts of a container that runs the relay: (dict "root" $ "config" the ConfigMap "secret" the Secret). */}}
{{- define "relay.container" -}}
{{- with .root -}}
image: {{ include "relay.image" (dict "image" .Values.image "tag" .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{- toYaml .Values.securityContext | nindent 2 }}
{{- if or (include "relay.hasSecret" .) .Values.envFrom }}
envFrom:
  {{- if include "relay.hasSecret" . }}
  - secretRef:
      name: {{ $.secret }}
  {{- end }}
  {{- with .Values.envFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
env:
  {{- include "relay.environment" $ | nindent 2 }}
resources: {{- toYaml .Values.resources | nindent 2 }}
{{- with fromYamlArray (include "relay.volumeMounts" .) }}
volumeMounts: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.volumeMounts" -}}
{{- if .Values.config }}
- {name: config, mountPath: /etc/relay, readOnly: true}
{{- end }}
{{- if .Values.senderSecret }}
- {name: senders, mountPath: /etc/relay-senders, readOnly: true}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /etc/relay-tls, readOnly: true}
{{- end }}
{{- if .Values.redis.caSecret }}
- {name: redis-ca, mountPath: /etc/relay-redis-ca, readOnly: true}
{{- end }}
{{- if .Values.redis.certificateSecret }}
- {name: redis-certificate, mountPath: /etc/relay-redis-certificate, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The volumes: (dict "root" $ "config" the ConfigMap). */}}
{{- define "relay.volumes" -}}
{{- with .root -}}
{{- if .Values.config }}
- name: config
  configMap:
    name: {{ $.config }}
    items: [{key: relay.yaml, path: relay.yaml}]
{{- end }}
{{- with .Values.senderSecret }}
- name: senders
  secret:
    secretName: {{ . }}
{{- end }}
{{- with .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ . }}
{{- end }}
{{- with .Values.redis.caSecret }}
- name: redis-ca
  secret:
    secretName: {{ . }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- with .Values.redis.certificateSecret }}
- name: redis-certificate
  secret:
    secretName: {{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What all pods that run the relay have in common. For a Service named relay, Kubernetes would set the variable RELAY_PORT. */}}
{{- define "relay.podBase" -}}
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- include "relay.pullSecrets" $ | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Replicas on different nodes and zones, as far as there are some, unless the values say otherwise. */}}
{{- define "relay.topologySpread" -}}
{{- if .Values.topologySpreadConstraints -}}
{{- toYaml .Values.topologySpreadConstraints -}}
{{- else if .Values.spread -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  matchLabelKeys: [pod-template-hash]
  labelSelector:
    matchLabels: {{- include "relay.selectorLabels" $ | nindent 6 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The settings of config that a running relay cannot change. Another value of one of them restarts the pods. */}}
{{- define "relay.restartConfig" -}}
{{- $config := fromYaml (.Values.config | default "{}") -}}
{{- $all := dict -}}
{{- range splitList " " (include "relay.restartSettings" .) -}}
{{- if hasKey $config . -}}
{{- $_ := set $all . (get $config .) -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* The rights of the relay's user in Redis, as docs/redis.md lists them. */}}
{{- define "relay.redisRights" -}}
resetkeys ~relay:* resetchannels -@all +eval +evalsha +info +time +wait +ping +command +cluster|slots +zadd +zcard +zcount +zrange +zrangebyscore +zrevrange +zscore +zrem +zremrangebyscore +zremrangebyrank +hset +hsetnx +hincrby +hget +hmget +hgetall +hexists +hlen +hdel +set +get +del +type +pexpire +pttl +xadd +xlen +xrange +xrevrange +xdel +rpush +llen +lrem
{{- end -}}
