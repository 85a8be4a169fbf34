//go:build chart

// Package helm_test checks the chart with the real helm, whose path is in HELM.
package helm_test

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path := os.Getenv("HELM") //nolint:forbidigo // where the tool is
	require.NotEmpty(t, path, "run make chart")
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

// The version of Kubernetes to render for: a helm that is built from source assumes an old one.
const kubernetes = "--kube-version=1.34"

// withRedis adds a Redis to arguments that name none: more than one replica is refused without.
func withRedis(args []string) []string {
	if regexp.MustCompile("(?i)redis|existingSecret|--values").MatchString(strings.Join(args, " ")) {
		return args
	}
	return append([]string{"--set", "redisURL=redis://redis:6379/0"}, args...)
}

// refused returns the error of helm for values that it refuses.
func refused(t *testing.T, set string) string {
	t.Helper()
	out, err := helm(t, append([]string{"template", "my", "relay", kubernetes}, withRedis([]string{"--set", set})...)...)
	require.Error(t, err, "%s: %s", set, out)
	return strings.ReplaceAll(out, "/", ".") // paths of the schema as in values.yaml
}

type object = map[string]any

// render renders the chart and finds its objects by kind and name.
func render(t *testing.T, args ...string) map[string]object {
	t.Helper()
	out, err := helm(t, append([]string{"template", "my", "relay", "--namespace", "ops", kubernetes}, withRedis(args)...)...)
	require.NoError(t, err, out)
	return objectsOf(t, out)
}

// objectsOf reads objects, and finds them by kind and name.
func objectsOf(t *testing.T, text string) map[string]object {
	t.Helper()
	all := map[string]object{}
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		if decoder.Decode(&o) != nil {
			return all
		}
		if o != nil {
			all[at[string](t, o, "kind")+"/"+at[string](t, o, "metadata", "name")] = o
		}
	}
}

// installed are the objects that are no hooks: those that stay.
func installed(objects map[string]object) map[string]object {
	all := maps.Clone(objects)
	maps.DeleteFunc(all, func(_ string, o object) bool {
		annotations, _ := o["metadata"].(object)["annotations"].(object)
		return annotations["helm.sh/hook"] != nil
	})
	return all
}

// at walks into an object by keys and indexes.
func at[T any](t *testing.T, v any, path ...any) T {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(object)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	typed, ok := v.(T)
	require.True(t, ok, "%v is %T", path, v)
	return typed
}

// environment returns the variables of the container: those of the Secret, then its own.
func environment(t *testing.T, objects map[string]object) []string {
	t.Helper()
	var env []string
	for name, value := range secrets(t, objects) {
		env = append(env, name+"="+value)
	}
	for _, v := range at[[]any](t, objects["Deployment/my-relay"], "spec", "template", "spec", "containers", 0, "env") {
		env = append(env, at[string](t, v, "name")+"="+valueOf(t, objects, v.(object)))
	}
	return env
}

// secrets are the keys of the Secret that the chart makes.
func secrets(t *testing.T, objects map[string]object) map[string]string {
	t.Helper()
	all := map[string]string{}
	secret, ok := objects["Secret/my-relay-secrets"]
	if !ok {
		return all
	}
	for name, value := range at[object](t, secret, "data") {
		decoded, err := base64.StdEncoding.DecodeString(value.(string))
		require.NoError(t, err)
		all[name] = string(decoded)
	}
	return all
}

// valueOf is the value of a variable, from a ConfigMap of the chart if it refers to one.
func valueOf(t *testing.T, objects map[string]object, variable object) string {
	t.Helper()
	if value, ok := variable["value"].(string); ok {
		return value
	}
	from := at[object](t, variable, "valueFrom")
	if _, ok := from["configMapKeyRef"]; !ok {
		return "from a Secret"
	}
	config := objects["ConfigMap/"+at[string](t, from, "configMapKeyRef", "name")]
	return at[string](t, config, "data", at[string](t, from, "configMapKeyRef", "key"))
}

// check runs relay check --print with that environment.
func check(t *testing.T, env []string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "../cmd/relay", "check", "--print")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errOut, append(os.Environ(), env...)
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

func TestLint(t *testing.T) {
	out, err := helm(t, "lint", "--strict", "relay")
	require.NoError(t, err, out)
}

func TestDefaults(t *testing.T) {
	objects := render(t)
	require.Len(t, installed(objects), 7)
	require.Equal(t, 1, at[int](t, objects["PodDisruptionBudget/my-relay"], "spec", "maxUnavailable"))
	deployment := objects["Deployment/my-relay"]
	require.Equal(t, 2, at[int](t, deployment, "spec", "replicas"))
	pod := at[object](t, deployment, "spec", "template", "spec")
	require.Equal(t, false, pod["enableServiceLinks"])
	require.Equal(t, false, pod["automountServiceAccountToken"])
	require.True(t, at[bool](t, pod, "securityContext", "runAsNonRoot"))
	container := at[object](t, pod, "containers", 0)
	require.Equal(t, object{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []any{"ALL"}},
	}, container["securityContext"])
	require.Equal(t, object{"path": "/healthz", "port": "ops"}, at[object](t, container, "livenessProbe", "httpGet"))
	require.Equal(t, object{"path": "/readyz", "port": "ops"}, at[object](t, container, "readinessProbe", "httpGet"))
	require.Equal(t, "slackrelay:0.1.0", container["image"])
	require.NotEmpty(t, at[object](t, container, "resources", "requests"))
	require.Contains(t, objects, "Service/my-relay")
	require.Contains(t, objects, "Service/my-relay-ops")
	_, stderr, err := check(t, environment(t, objects))
	require.Error(t, err, "the relay itself asks for a token")
	require.Contains(t, stderr, "set ingress_token, auth or allow_unauthenticated")
}

func TestChannelsBecomeVariables(t *testing.T) {
	values := t.TempDir() + "/values.yaml"
	require.NoError(t, os.WriteFile(values, []byte(`
redisURL: redis://:pw@r:6379/0
slackToken: xoxb-1
channels:
  - {name: alerts-db, slackChannel: C01, ingressToken: in, globalLimit: 1000000, categoryLimit: 20, window: 1h, globalWindow: 2h,
     categoryWindow: 3h, pace: 0s, burst: 5,
     slackToken: xoxb-db, slackApiURL: "https://slack-gov.com/api/", onRedisDown: closed, ttl: 2h,
     resolves: edit, repeats: merge, bundle: webhook,
     digest: false, dropRecord: 5, fallbackWebhookURL: "https://hooks/services/y"}
  - {name: hook, slackWebhookURL: "https://hooks/services/x", ingressToken: in, overflow: delay, maxDelayed: 7, maxDelay: 3h}
adminToken: 4dm1n
operations: {webhookURL: "https://ops/services/z"}
env: {RELAY_DEDUPE: 2h}
`), 0o600))
	objects := render(t, "--values", values)
	stdout, stderr, err := check(t, environment(t, objects))
	require.NoError(t, err, stderr)
	for _, line := range []string{
		"listen: :8080", "dedupe: 2h\n", "name: alerts-db", "slack_channel: C01", "global_limit: 1000000", "category_limit: 20",
		"window: 1h\n", "global_window: 2h\n", "category_window: 3h\n", "pace: 0s", "burst: 5", "name: hook", "slack_webhook_url: '********'",
		"slack_token: '********'", "slack_api_url: https://slack-gov.com/api/", "ttl: 2h\n",
		"resolves: edit", "repeats: merge", "bundle: webhook", "digest: false", "drop_record: 5", "fallback_webhook_url: '********'",
		"overflow: delay", "max_delayed: 7", "max_delay: 3h\n", "admin_token: '********'", "operations_webhook_url: '********'",
	} {
		require.Contains(t, stdout, line)
	}
	out, err := helm(t, "template", "my", "relay", kubernetes, "--values", values, "--show-only", "templates/deployment.yaml")
	require.NoError(t, err, out)
	for _, secret := range []string{"xoxb-1", "xoxb-db", ":pw@", "/services/", "value: in", "4dm1n"} {
		require.NotContains(t, out, secret, "secrets are in the Secret only")
	}
}

// The relay reads the file, and variables take precedence over it.
func TestConfigBecomesAMountedFile(t *testing.T) {
	values := t.TempDir() + "/values.yaml"
	require.NoError(t, os.WriteFile(values, []byte(`
replicaCount: 3
redisURL: ""
redisPassword: pw
redis: {addrs: ["r1:6379", "r2:6379"], cluster: true, waitReplicas: 1, username: relay}
channels: [{name: alerts, ingressToken: in, onRedisDown: open, limitGroup: team, allowFrom: [10.0.0.7, 10.1.0.0/16]}]
senderSecret: senders
trustedProxies: [10.0.0.0/8, "fd00::/8"]
canary: {interval: 5m, webhookURL: "https://canary/services/x"}
operations: {webhookURL: "https://ops/services/z"}
config: |
  channels:
    - name: alerts
      window: 1h
      auth: [{name: hub, kind: github, secret_file: /etc/relay-senders/hub}]
      rules: [{name: quiet, match: [{field: severity, is: info}], mute: true}]
      first_notice: {mode: auto}
      levels: [{name: sender, strategy: gate, windows: [{limit: 5, per: 5s}]}]
`), 0o600))
	objects := render(t, "--values", values)
	file := t.TempDir() + "/relay.yaml"
	secrets := t.TempDir()
	require.NoError(t, os.WriteFile(secrets+"/hub", []byte("s3cret"), 0o600))
	content := at[string](t, objects["ConfigMap/my-relay"], "data", "relay.yaml")
	content = strings.ReplaceAll(content, "/etc/relay-senders", secrets)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	mount := at[object](t, objects["Deployment/my-relay"], "spec", "template", "spec", "containers", 0, "volumeMounts", 0)
	require.Equal(t, "/etc/relay", mount["mountPath"])
	env := environment(t, objects)
	require.Contains(t, env, "RELAY_CONFIG=/etc/relay/relay.yaml")
	stdout, stderr, err := check(t, append(env, "RELAY_CONFIG="+file))
	require.NoError(t, err, stderr)
	for _, line := range []string{
		"replicas: 3", "- r1:6379", "redis_cluster: true", "redis_username: relay", "redis_password: '********'", "redis_wait_replicas: 1",
		"on_redis_down: open", "limit_group: team", "window: 1h\n", "mode: auto", "strategy: gate",
		"- 10.0.0.7", "- 10.1.0.0/16", "- 10.0.0.0/8", "- fd00::/8", "canary_interval: 5m", "canary_webhook_url: '********'",
		"kind: github", "name: quiet",
	} {
		require.Contains(t, stdout, line)
	}
	volume := at[object](t, objects["Deployment/my-relay"], "spec", "template", "spec", "volumes", 1)
	require.Equal(t, object{"name": "senders", "secret": object{"secretName": "senders"}}, volume)
}

func TestGracePeriodCoversTheDrain(t *testing.T) {
	pod := at[object](t, render(t)["Deployment/my-relay"], "spec", "template", "spec")
	require.Equal(t, 45, pod["terminationGracePeriodSeconds"])
	require.NotContains(t, at[object](t, pod, "containers", 0), "lifecycle", "the relay drains by itself")
	pod = at[object](t, render(t, "--set", "preStopSeconds=5,drain=20s")["Deployment/my-relay"], "spec", "template", "spec")
	require.Equal(t, 5, at[int](t, pod, "containers", 0, "lifecycle", "preStop", "sleep", "seconds"))
	for set, needed := range map[string]string{
		"drain=25.5s": "46", "drain=1m30s": "110", "preStopSeconds=21": "46", "drain=1500ms,terminationGracePeriodSeconds=21": "22",
	} {
		out := refused(t, set)
		require.Contains(t, out, "terminationGracePeriodSeconds")
		require.Contains(t, out, "must be "+needed+" at least", set)
	}
}

func TestTracesAndLogs(t *testing.T) {
	objects := render(t, "--set", "traces.endpoint=http://collector:4318,traces.headers=key=s3cret,traces.ratio=0.25,logBurst=0,"+
		"env.OTEL_RESOURCE_ATTRIBUTES=team=a,channels[0].name=a,channels[0].ingressToken=in")
	env := environment(t, objects)
	require.Contains(t, env, "OTEL_RESOURCE_ATTRIBUTES=team=a")
	stdout, stderr, err := check(t, env)
	require.NoError(t, err, stderr)
	for _, line := range []string{"otlp_endpoint: http://collector:4318", "otlp_headers: '********'", "trace_ratio: 0.25", "log_burst: 0"} {
		require.Contains(t, stdout, line)
	}
}

func TestTLS(t *testing.T) {
	objects := render(t, "--set", "tls.secretName=cert,tls.clientCertificates=true")
	env := environment(t, objects)
	require.Contains(t, env, "RELAY_TLS_CERT_FILE=/etc/relay-tls/tls.crt")
	require.Contains(t, env, "RELAY_TLS_KEY_FILE=/etc/relay-tls/tls.key")
	require.Contains(t, env, "RELAY_TLS_CLIENT_CA_FILE=/etc/relay-tls/ca.crt")
	pod := at[object](t, objects["Deployment/my-relay"], "spec", "template", "spec")
	mount := at[object](t, pod, "containers", 0, "volumeMounts", 0)
	require.Equal(t, object{"name": "tls", "mountPath": "/etc/relay-tls", "readOnly": true}, mount)
	require.Equal(t, object{"name": "tls", "secret": object{"secretName": "cert"}}, at[object](t, pod, "volumes", 0))
}

func TestAnExistingSecret(t *testing.T) {
	objects := render(t, "--set", "existingSecret=mine")
	require.NotContains(t, objects, "Secret/my-relay")
	container := at[object](t, objects["Deployment/my-relay"], "spec", "template", "spec", "containers", 0)
	require.Equal(t, "mine", at[string](t, container, "envFrom", 0, "secretRef", "name"))
	require.Contains(t, refused(t, "existingSecret=mine,channels[0].name=a,channels[0].ingressToken=x"),
		"ingressToken must not be in values when existingSecret is set; put it in the Secret mine")
}

func TestDocumentedValuesExist(t *testing.T) {
	table, err := os.ReadFile("../docs/kubernetes.md")
	require.NoError(t, err)
	defaults, err := os.ReadFile("relay/values.yaml")
	require.NoError(t, err)
	var values object
	require.NoError(t, yaml.Unmarshal(defaults, &values))
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(string(table), -1)
	require.Greater(t, len(rows), 12)
	for _, row := range rows {
		for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			name := found[1]
			var at any = values
			for step := range strings.SplitSeq(name, ".") {
				require.Contains(t, at, step, name)
				at = at.(object)[step]
			}
		}
	}
}

func TestChannelWithoutNameIsRefused(t *testing.T) {
	require.Contains(t, refused(t, "channels[0].window=5m"), "missing property 'name'")
}

func TestOptionalObjectsAreRendered(t *testing.T) {
	values := t.TempDir() + "/values.yaml"
	require.NoError(t, os.WriteFile(values, []byte(`
redisURL: redis://redis:6379/0
podDisruptionBudget: {enabled: false}
autoscaling: {enabled: true, minReplicas: 3}
networkPolicy:
  enabled: true
  webhooksFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]
  opsFrom: [{podSelector: {matchLabels: {app: prometheus}}}]
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true}
`), 0o600))
	objects := render(t, "--values", values)
	require.NotContains(t, objects, "PodDisruptionBudget/my-relay")
	deployment := objects["Deployment/my-relay"]
	require.NotContains(t, at[object](t, deployment, "spec"), "replicas", "the autoscaler sets it")
	require.Contains(t, environment(t, objects), "RELAY_REPLICAS=3")
	scaler := objects["HorizontalPodAutoscaler/my-relay"]
	require.Equal(t, []int{3, 6}, []int{at[int](t, scaler, "spec", "minReplicas"), at[int](t, scaler, "spec", "maxReplicas")})
	require.Equal(t, "my-relay", at[string](t, scaler, "spec", "scaleTargetRef", "name"))

	selector := at[object](t, deployment, "spec", "selector", "matchLabels")
	policy := objects["NetworkPolicy/my-relay"]
	require.Equal(t, selector, at[object](t, policy, "spec", "podSelector", "matchLabels"))
	require.Equal(t, "http", at[string](t, policy, "spec", "ingress", 0, "ports", 0, "port"))
	require.Equal(t, "monitoring", at[string](t, policy, "spec", "ingress", 0, "from", 0, "namespaceSelector", "matchLabels", "name"))
	require.Equal(t, "ops", at[string](t, policy, "spec", "ingress", 1, "ports", 0, "port"))
	policy = render(t, "--set", "networkPolicy.enabled=true")["NetworkPolicy/my-relay"]
	require.Len(t, at[[]any](t, policy, "spec", "ingress"), 1, "nobody reaches the ops listener")

	monitor := objects["ServiceMonitor/my-relay"]
	require.Equal(t, "prometheus", at[string](t, monitor, "metadata", "labels", "release"))
	wanted := at[object](t, monitor, "spec", "selector", "matchLabels")
	ops, labels := objects["Service/my-relay-ops"], at[object](t, objects["Service/my-relay-ops"], "metadata", "labels")
	for name, value := range wanted {
		require.Equal(t, value, labels[name])
	}
	public := at[object](t, objects["Service/my-relay"], "metadata", "labels")
	require.NotEqual(t, wanted["app.kubernetes.io/component"], public["app.kubernetes.io/component"])
	require.Equal(t, at[string](t, monitor, "spec", "endpoints", 0, "port"), at[string](t, ops, "spec", "ports", 0, "name"))

	rules := at[[]any](t, objects["PrometheusRule/my-relay"], "spec", "groups", 0, "rules")
	require.Len(t, rules, 16)
	require.Contains(t, at[string](t, rules[3], "annotations", "summary"), "{{ $labels.channel }}", "Prometheus fills it in, not helm")
}

// The schema knows each value, and each setting of a channel in the comments of values.yaml.
func TestTheSchemaKnowsAllValues(t *testing.T) {
	values, err := os.ReadFile("relay/values.yaml")
	require.NoError(t, err)
	var defaults, schema object
	require.NoError(t, yaml.Unmarshal(values, &defaults))
	text, err := os.ReadFile("relay/values.schema.json")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &schema))
	for name := range defaults {
		require.Contains(t, at[object](t, schema, "properties"), name)
	}
	for _, setting := range regexp.MustCompile(`(?m)^    # (\w+): `).FindAllSubmatch(values, -1) { // each is commented out
		require.Contains(t, at[object](t, schema, "properties", "channels", "items", "properties"), string(setting[1]))
	}
}
