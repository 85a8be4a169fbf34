{{/* A duration such as 1m30s in seconds, as a number with a fraction. */}}
{{- define "relay.seconds" -}}
{{- $units := dict "ns" 1e-9 "us" 1e-6 "µs" 1e-6 "ms" 1e-3 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- $total := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ns|us|µs|ms|s|m|h)" (toString .) -1 -}}
{{- $total = addf $total (mulf (regexFind "[0-9.]+" .) (get $units (regexFind "[a-zµ]+" .))) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{/* A quantity of bytes of Kubernetes (512Mi) or of redis.conf (256mb) as a whole number; 0 = not understood. */}}
{{- define "relay.bytes" -}}
{{- $units := dict "" 1.0 "b" 1.0 "k" 1e3 "m" 1e6 "g" 1e9 "t" 1e12 "ki" 1024.0 "mi" 1048576.0 "gi" 1073741824.0 "ti" 1099511627776.0 "kb" 1024.0 "mb" 1048576.0 "gb" 1073741824.0 -}}
{{- $text := include "relay.plain" . | lower -}}
{{- $unit := regexFind "[a-z]*$" $text -}}
{{- if and (regexMatch "^[0-9.]+[a-z]*$" $text) (hasKey $units $unit) -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units $unit) | int64 -}}
{{- else -}}
0
{{- end -}}
{{- end -}}

{{/* A setting of the relay that decides about the pod, from where the relay takes it: (dict "root" $ "name" "slack_timeout" "default" "5s").
     A variable takes precedence over config. */}}
{{- define "relay.effective" -}}
{{- $config := fromYaml (.root.Values.config | default "{}") -}}
{{- $variable := get .root.Values.env (printf "RELAY_%s" (upper .name)) -}}
{{- if and $variable (not (kindIs "map" $variable)) -}}
{{- include "relay.plain" $variable -}}
{{- else if hasKey $config .name -}}
{{- include "relay.plain" (get $config .name) -}}
{{- else -}}
{{- .default -}}
{{- end -}}
{{- end -}}

{{/* The seconds that a pod may need to stop: preStop, drain, 10 s for requests in flight, then the message that is being sent: one
     request to Slack, and one call to Redis with 4 s to spare. */}}
{{- define "relay.neededGrace" -}}
{{- $slack := include "relay.seconds" (include "relay.effective" (dict "root" . "name" "slack_timeout" "default" "5s")) -}}
{{- $redis := include "relay.seconds" .Values.redis.timeout -}}
{{- addf .Values.preStopSeconds (include "relay.seconds" .Values.drain) 10 $slack $redis 4 | ceil | int -}}
{{- end -}}

{{/* The bytes of memory that the bodies in flight may need: 128 MiB, and twice max_in_flight. */}}
{{- define "relay.neededMemory" -}}
{{- $body := include "relay.effective" (dict "root" . "name" "max_body" "default" "1048576") | int64 -}}
{{- $set := include "relay.effective" (dict "root" . "name" "max_in_flight" "default" "0") | int64 -}}
{{- $inFlight := $set | default (max 67108864 (mul 4 $body)) -}}
{{- add 134217728 (mul 2 $inFlight) -}}
{{- end -}}

{{/* A value as text. Helm reads 1000000 as a float and would print 1e+06. */}}
{{- define "relay.plain" -}}
{{- if and (kindIs "float64" .) (eq . (float64 (int64 .))) -}}
{{- int64 . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* A value as quoted text; the items of a list are separated by commas. */}}
{{- define "relay.text" -}}
{{- if kindIs "slice" . -}}
{{- join "," . | quote -}}
{{- else -}}
{{- include "relay.plain" . | quote -}}
{{- end -}}
{{- end -}}
