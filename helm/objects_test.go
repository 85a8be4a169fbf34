//go:build chart

package helm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// renderValues renders the chart with a values file.
func renderValues(t *testing.T, values string) map[string]object {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
	return render(t, "--values", file)
}

func podOf(t *testing.T, objects map[string]object) object {
	t.Helper()
	return at[object](t, objects["Deployment/my-relay"], "spec", "template")
}

// Kubernetes keeps a key that was once written with stringData. The name differs from that of earlier versions, whose Secret has
// such keys.
func TestKeysOfTheSecretLeaveWithTheValues(t *testing.T) {
	t.Parallel()
	objects := render(t, "--set", "slackToken=xoxb-1,redisURL=redis://r,channels[0].name=a,channels[0].ingressToken=in")
	require.NotContains(t, objects, "Secret/my-relay")
	secret := objects["Secret/my-relay-secrets"]
	require.NotContains(t, secret, "stringData")
	require.Equal(t, map[string]string{
		"RELAY_SLACK_TOKEN": "xoxb-1", "RELAY_REDIS_URL": "redis://r", "RELAY_CHANNEL_A_INGRESS_TOKEN": "in",
	}, secrets(t, objects), "no key without a value")
	none := render(t, "--set", "redis.addrs={r:6379}")
	require.NotContains(t, none, "Secret/my-relay-secrets")
	require.NotContains(t, at[object](t, podOf(t, none), "spec", "containers", 0), "envFrom")
}

// The secrets of the app are in the Secret only; the address of the dashboard is a variable.
func TestTheSettingsOfTheSlackAppReachTheRelay(t *testing.T) {
	t.Parallel()
	const signing = "0123456789abcdef0123456789abcdef"
	objects := render(t, "--set", "redisURL=redis://r,slackToken=xoxb-1,slackAppToken=xapp-1-A0-1-a,slackSigningSecret="+signing+
		",externalURL=https://relay.example.com,channels[0].name=a,channels[0].slackChannel=C0ALERTS,allowUnauthenticated=true")
	require.Equal(t, map[string]string{
		"RELAY_SLACK_TOKEN": "xoxb-1", "RELAY_SLACK_APP_TOKEN": "xapp-1-A0-1-a", "RELAY_SLACK_SIGNING_SECRET": signing,
		"RELAY_REDIS_URL": "redis://r",
	}, secrets(t, objects))
	container := fmt.Sprint(at[object](t, podOf(t, objects), "spec", "containers", 0))
	require.NotContains(t, container, "xapp-1")
	require.NotContains(t, container, signing)
	env := environment(t, objects)
	require.Contains(t, env, "RELAY_EXTERNAL_URL=https://relay.example.com")
	_, stderr, err := check(t, env)
	require.NoError(t, err, stderr)

	none := render(t, "--set", "redisURL=redis://r")
	require.NotContains(t, fmt.Sprint(environment(t, none)), "RELAY_EXTERNAL_URL", "empty means none")
}

func TestRedisWithAddressesSecretsAndCertificates(t *testing.T) {
	t.Parallel()
	objects := render(t, "--set", "redis.addrs={r1:6379},redis.tls=true,redis.passwordSecret.name=redis,"+
		"redis.passwordSecret.key=redis-password,redis.caSecret=ca,redis.certificateSecret=client")
	env := environment(t, objects)
	for _, name := range env {
		require.False(t, strings.HasPrefix(name, "RELAY_REDIS_URL="), name)
	}
	require.Contains(t, env, "RELAY_REDIS_CA_FILE=/etc/relay-redis-ca/ca.crt")
	require.Contains(t, env, "RELAY_REDIS_CERT_FILE=/etc/relay-redis-certificate/tls.crt")
	require.Contains(t, env, "RELAY_REDIS_KEY_FILE=/etc/relay-redis-certificate/tls.key")
	var password object
	for _, v := range at[[]any](t, podOf(t, objects), "spec", "containers", 0, "env") {
		if v.(object)["name"] == "RELAY_REDIS_PASSWORD" {
			password = v.(object)
		}
	}
	require.Equal(t, object{"name": "redis", "key": "redis-password"}, at[object](t, password, "valueFrom", "secretKeyRef"))
	require.Len(t, at[[]any](t, podOf(t, objects), "spec", "volumes"), 2)

	bundled := render(t, "--set", "bundledRedis.enabled=true,redis.passwordSecret.name=redis")
	ref := at[object](t, redisContainer(t, bundled), "env", 0, "valueFrom", "secretKeyRef")
	require.Equal(t, object{"name": "redis", "key": "password"}, ref)
}

// Each restart of the bundled Redis is an outage: only what it uses itself may cause one.
func TestWhatRestartsPods(t *testing.T) {
	t.Parallel()
	const base = "redisPassword: pw\nbundledRedis: {enabled: true}\nchannels: [{name: a, ingressToken: in}]\n"
	const config = "config: |\n  lease: 10s\n  max_title: 100\n"
	before := renderValues(t, base+config)
	for change, restarts := range map[string]struct{ relay, redis bool }{
		base + config + "replicaCount: 4":                                          {},
		base + "config: |\n  lease: 10s\n  max_title: 200\n":                       {},
		base + "config: |\n  lease: 20s\n  max_title: 100\n":                       {relay: true},
		strings.Replace(base, "in}", "new}", 1) + config:                           {relay: true},
		base + config + "image: {tag: 9.9.9}":                                      {relay: true},
		base + config + "adminToken: x":                                            {relay: true},
		strings.Replace(base, "pw", "new", 1) + config:                             {relay: true, redis: true},
		strings.Replace(base, "true}", "true, maxMemory: 128mb}", 1) + config:      {redis: true},
		strings.Replace(base, "true}", "true, image: {tag: \"8.0\"}}", 1) + config: {redis: true},
	} {
		after := renderValues(t, change)
		same := func(kind string) bool {
			return yamlOf(t, at[object](t, before[kind], "spec", "template")) == yamlOf(t, at[object](t, after[kind], "spec", "template"))
		}
		require.Equal(t, restarts.relay, !same("Deployment/my-relay"), "the relay: %s", change)
		require.Equal(t, restarts.redis, !same("StatefulSet/my-relay-redis"), "Redis: %s", change)
	}
	require.NotContains(t, yamlOf(t, podOf(t, before)), "helm.sh/chart", "another version of the chart restarts nothing by itself")
}

func yamlOf(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestImages(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0", 64)
	objects := render(t, "--set", "image.tag=1.2.3,image.digest="+digest+",redisPassword=x,bundledRedis.enabled=true,"+
		"bundledRedis.image.digest="+digest)
	require.Equal(t, "slackrelay:1.2.3@"+digest, at[string](t, podOf(t, objects), "spec", "containers", 0, "image"))
	require.Equal(t, "redis:7.4@"+digest, redisContainer(t, objects)["image"])
	require.Equal(t, "1.2.3", at[string](t, objects["Deployment/my-relay"], "metadata", "labels", "app.kubernetes.io/version"))
	long := render(t, "--set", "image.tag="+strings.Repeat("x", 128))
	label := at[string](t, long["Deployment/my-relay"], "metadata", "labels", "app.kubernetes.io/version")
	require.Len(t, label, 63, "a label has at most 63 characters")
}

// Kubernetes allows 63 characters for Services and labels, and adds 11 to those of a StatefulSet.
func TestNamesOfAnyLengthAreValid(t *testing.T) {
	t.Parallel()
	for _, release := range []string{strings.Repeat("a", 53), strings.Repeat("b", 41), "team.alerts", "1password"} {
		out, err := helm(t, "template", release, "relay", kubernetes, "--set", "bundledRedis.enabled=true,redisPassword=x")
		require.NoError(t, err, out)
		for kind, o := range objectsOf(t, out) {
			name := at[string](t, o, "metadata", "name")
			require.Regexp(t, `^[a-z][a-z0-9-]*[a-z0-9]$`, name, kind)
			limit, known := map[string]int{"StatefulSet": 52, "Secret": 253, "ConfigMap": 253}[at[string](t, o, "kind")]
			if !known {
				limit = 63
			}
			require.LessOrEqual(t, len(name), limit, kind)
		}
	}
	objects := render(t, "--set", "fullnameOverride=alerts,nameOverride=notifier,commonLabels.team=ops,commonAnnotations.owner=me")
	deployment := objects["Deployment/alerts"]
	require.Equal(t, "notifier", at[string](t, deployment, "spec", "selector", "matchLabels", "app.kubernetes.io/name"))
	for kind, o := range objects {
		require.Equal(t, "ops", at[string](t, o, "metadata", "labels", "team"), kind)
		require.Equal(t, "me", at[string](t, o, "metadata", "annotations", "owner"), kind)
		require.Equal(t, "ops", at[string](t, o, "metadata", "namespace"), kind)
	}
	require.Equal(t, "ops", at[string](t, deployment, "spec", "template", "metadata", "labels", "team"))
}

func TestVariablesFromElsewhere(t *testing.T) {
	t.Parallel()
	objects := renderValues(t, `
redisURL: redis://r
env: {RELAY_SLACK_TOKEN: {valueFrom: {secretKeyRef: {name: slack, key: token}}}, RELAY_MAX_TITLE: 1000000}
envFrom: [{configMapRef: {name: more}}]
`)
	container := at[object](t, podOf(t, objects), "spec", "containers", 0)
	require.Contains(t, container["env"], object{
		"name": "RELAY_SLACK_TOKEN", "valueFrom": object{"secretKeyRef": object{"name": "slack", "key": "token"}},
	})
	require.Contains(t, container["env"], object{"name": "RELAY_MAX_TITLE", "value": "1000000"})
	require.Equal(t, []any{
		object{"secretRef": object{"name": "my-relay-secrets"}}, object{"configMapRef": object{"name": "more"}},
	}, container["envFrom"])
}

// An Ingress and an HTTPRoute lead to the webhooks, never to the ops Service.
func TestRoutesLeadToWebhooksOnly(t *testing.T) {
	t.Parallel()
	objects := renderValues(t, `
redisURL: redis://r
ingress: {enabled: true, className: nginx, hosts: [relay.example], tls: [{secretName: cert, hosts: [relay.example]}]}
httpRoute: {enabled: true, parentRefs: [{name: public, namespace: gateways}], hostnames: [relay.example], paths: [/hooks, /heartbeats]}
service: {type: LoadBalancer, externalTrafficPolicy: Local, loadBalancerSourceRanges: [10.0.0.0/8], ipFamilyPolicy: PreferDualStack}
`)
	ingress := objects["Ingress/my-relay"]
	require.Equal(t, "relay.example", at[string](t, ingress, "spec", "rules", 0, "host"))
	require.Equal(t, object{"name": "my-relay", "port": object{"name": "http"}},
		at[object](t, ingress, "spec", "rules", 0, "http", "paths", 0, "backend", "service"))
	route := objects["HTTPRoute/my-relay"]
	require.Equal(t, object{"name": "my-relay", "port": 80}, at[object](t, route, "spec", "rules", 0, "backendRefs", 0))
	require.Len(t, at[[]any](t, route, "spec", "rules", 0, "matches"), 2)
	for _, o := range []object{ingress, route} {
		require.NotContains(t, yamlOf(t, o), "-ops")
	}
	service := at[object](t, objects["Service/my-relay"], "spec")
	require.Equal(t, "Local", service["externalTrafficPolicy"])
	require.Equal(t, []any{"10.0.0.0/8"}, service["loadBalancerSourceRanges"])
	anyHost := render(t, "--set", "ingress.enabled=true")["Ingress/my-relay"]
	require.NotContains(t, at[object](t, anyHost, "spec", "rules", 0), "host")
}

func TestEgress(t *testing.T) {
	t.Parallel()
	ports := func(objects map[string]object) (all []any) {
		policy := objects["NetworkPolicy/my-relay"]
		require.Equal(t, []any{"Ingress", "Egress"}, at[[]any](t, policy, "spec", "policyTypes"))
		for _, rule := range at[[]any](t, policy, "spec", "egress") {
			for _, port := range at[[]any](t, rule, "ports") {
				all = append(all, at[int](t, port, "port"))
			}
		}
		return all
	}
	const on = "networkPolicy.enabled=true,networkPolicy.egress.enabled=true,"
	require.Equal(t, []any{53, 53, 443, 6380}, ports(render(t, "--set", on+"redisURL=rediss://:p@r:6380/0")))
	require.Equal(t, []any{53, 53, 443, 6379, 4318}, ports(render(t, "--set", on+"redisURL=redis://r,traces.endpoint=http://c:4318")))
	require.Equal(t, []any{53, 53, 443, 1, 2}, ports(render(t, "--set", on+"redis.addrs={a:1,b:2},redis.cluster=true")))
	proxy := render(t, "--set", on+"existingSecret=redis,networkPolicy.egress.extra[0].ports[0].port=3128")
	require.Equal(t, []any{53, 53, 443, 3128}, ports(proxy))
	bundled := render(t, "--set", on+"bundledRedis.enabled=true,redisPassword=x")
	to := at[object](t, bundled["NetworkPolicy/my-relay"], "spec", "egress", 2, "to", 0, "podSelector", "matchLabels")
	require.Equal(t, at[object](t, bundled["StatefulSet/my-relay-redis"], "spec", "selector", "matchLabels"), to)
}

func TestPodsCanBeExtended(t *testing.T) {
	t.Parallel()
	objects := renderValues(t, `
redisURL: redis://r
extraVolumes: [{name: more, emptyDir: {}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
initContainers: [{name: first, image: busybox}]
extraContainers: [{name: proxy, image: envoy}]
priorityClassName: high
strategy: {type: Recreate}
revisionHistoryLimit: 2
startupProbe: {httpGet: {path: /healthz, port: ops}}
deploymentAnnotations: {reloader.stakater.com/auto: "true"}
extraObjects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}
  - |
    apiVersion: v1
    kind: Secret
    metadata: {name: '{{ include "relay.fullname" . }}-more'}
`)
	pod := at[object](t, podOf(t, objects), "spec")
	require.Equal(t, "more", at[string](t, pod, "volumes", 0, "name"))
	require.Equal(t, "/more", at[string](t, pod, "containers", 0, "volumeMounts", 0, "mountPath"))
	require.Equal(t, "first", at[string](t, pod, "initContainers", 0, "name"))
	require.Equal(t, "proxy", at[string](t, pod, "containers", 1, "name"))
	require.Equal(t, "high", pod["priorityClassName"])
	require.Contains(t, at[object](t, pod, "containers", 0), "startupProbe")
	deployment := objects["Deployment/my-relay"]
	require.Equal(t, object{"type": "Recreate"}, at[object](t, deployment, "spec", "strategy"))
	require.Equal(t, 2, at[int](t, deployment, "spec", "revisionHistoryLimit"))
	require.Equal(t, "true", at[string](t, deployment, "metadata", "annotations", "reloader.stakater.com/auto"))
	require.Contains(t, objects, "ConfigMap/my-more")
	require.Contains(t, objects, "Secret/my-relay-more")

	spread := at[[]any](t, podOf(t, render(t)), "spec", "topologySpreadConstraints")
	require.Len(t, spread, 2)
	require.NotContains(t, at[object](t, podOf(t, render(t, "--set", "spread=false")), "spec"), "topologySpreadConstraints")
}

func TestChannelsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	objects := renderValues(t, `
redisURL: redis://r
senderSecret: senders
config: |
  channels: [{name: alerts, ingress_token_file: /etc/relay-senders/a}]
`)
	for _, name := range environment(t, objects) {
		require.False(t, strings.HasPrefix(name, "RELAY_CHANNELS="), "the file lists the channels")
	}
	require.Equal(t, []any{object{"key": "relay.yaml", "path": "relay.yaml"}},
		at[[]any](t, podOf(t, objects), "spec", "volumes", 0, "configMap", "items"))
}

// Before an upgrade, a Job checks the new configuration, with copies of what the new pods will have.
func TestTheConfigurationIsCheckedBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	objects := render(t, "--set", "redisURL=redis://r,slackToken=x,config=max_title: 5")
	job := objects["Job/my-relay-check"]
	require.Equal(t, "pre-upgrade", at[string](t, job, "metadata", "annotations", "helm.sh/hook"))
	pod := at[object](t, job, "spec", "template", "spec")
	require.Equal(t, []any{"check", "--redis"}, at[[]any](t, pod, "containers", 0, "args"))
	require.Equal(t, "my-relay-check", at[string](t, pod, "containers", 0, "envFrom", 0, "secretRef", "name"))
	require.Equal(t, "my-relay-check", at[string](t, pod, "volumes", 0, "configMap", "name"))
	require.Equal(t, at[object](t, objects["Secret/my-relay-secrets"], "data"), at[object](t, objects["Secret/my-relay-check"], "data"))
	require.Equal(t, at[object](t, objects["ConfigMap/my-relay"], "data"), at[object](t, objects["ConfigMap/my-relay-check"], "data"))
	labels := at[object](t, job, "spec", "template", "metadata", "labels")
	selector := at[object](t, objects["Deployment/my-relay"], "spec", "selector", "matchLabels")
	require.NotEqual(t, selector["app.kubernetes.io/name"], labels["app.kubernetes.io/name"], "it gets no webhooks")
	mine := at[object](t, podOf(t, objects), "spec", "containers", 0, "securityContext")
	require.Equal(t, mine, at[object](t, pod, "containers", 0, "securityContext"))

	bundled := render(t, "--set", "bundledRedis.enabled=true,redisPassword=x")["Job/my-relay-check"]
	require.Equal(t, []any{"check"}, at[[]any](t, bundled, "spec", "template", "spec", "containers", 0, "args"), "it may not be there yet")
	existing := render(t, "--set", "existingSecret=mine")
	require.NotContains(t, existing, "Secret/my-relay-check")
	container := at[object](t, existing["Job/my-relay-check"], "spec", "template", "spec", "containers", 0)
	require.Equal(t, "mine", at[string](t, container, "envFrom", 0, "secretRef", "name"))
	require.NotContains(t, render(t, "--set", "check.enabled=false"), "Job/my-relay-check")
}

func TestHelmTestReachesTheOpsService(t *testing.T) {
	t.Parallel()
	objects := render(t, "--set", "networkPolicy.enabled=true")
	pod := objects["Pod/my-relay-test"]
	require.Equal(t, []any{"status", "--ops-url", "http://my-relay-ops:9090"}, at[[]any](t, pod, "spec", "containers", 0, "args"))
	from := at[object](t, objects["NetworkPolicy/my-relay-test"], "spec", "ingress", 0, "from", 0, "podSelector", "matchLabels")
	for name, value := range from {
		require.Equal(t, value, at[string](t, pod, "metadata", "labels", name))
	}
}

// A release has alerts about itself only, and nobody else's pods hide that it is gone.
func TestAlertsAreThoseOfTheRelease(t *testing.T) {
	t.Parallel()
	rule := render(t, "--set", "prometheusRule.enabled=true,serviceMonitor.enabled=true")["PrometheusRule/my-relay"]
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/rules.yaml", []byte(yamlOf(t, at[object](t, rule, "spec"))), 0o600))
	require.NoError(t, os.WriteFile(dir+"/test.yaml", []byte(`
rule_files: [rules.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'relay_redis_up{namespace="other",job="my-relay-ops",pod="b"}', values: '0x60'}
      - {series: 'relay_config_info{hash="1",namespace="other",job="my-relay-ops",pod="b"}', values: '1x60'}
      - {series: 'relay_config_info{hash="2",namespace="ops",job="my-relay-ops",pod="b"}', values: '1x60'}
    alert_rule_test:
      - {eval_time: 30m, alertname: RelayConfigDiffers}
      - {eval_time: 30m, alertname: RelayRedisDown}
      - eval_time: 30m
        alertname: RelayDown
        exp_alerts:
          - exp_labels: {severity: critical, namespace: ops, job: my-relay-ops}
            exp_annotations:
              summary: Prometheus sees no relay
              description: >-
                Prometheus has no metrics of any replica. Either no replica accepts webhooks, or Prometheus does not scrape them.
`), 0o600))
	out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", dir+"/test.yaml").CombinedOutput()
	require.NoError(t, err, "%s", out)
	other := render(t, "--set", `prometheusRule.enabled=true,prometheusRule.selector=job="x"`)["PrometheusRule/my-relay"]
	require.Contains(t, yamlOf(t, other), `relay_redis_up{job="x"}`)
}

func TestAutoscaling(t *testing.T) {
	t.Parallel()
	for set, target := range map[string]object{
		"autoscaling.enabled=true": {"type": "AverageValue", "averageValue": "500m"},
		"autoscaling.enabled=true,autoscaling.targetCPUUtilizationPercentage=200": {"type": "Utilization", "averageUtilization": 200},
	} {
		scaler := render(t, "--set", set)["HorizontalPodAutoscaler/my-relay"]
		require.Equal(t, target, at[object](t, scaler, "spec", "metrics", 0, "resource", "target"))
	}
}
