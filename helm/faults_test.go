//go:build chart

package helm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// badValues are values, as for --set, and what helm must answer to them. Those of one group are tried together: all faults are
// reported at once. A schema reports only its own, so its faults are in groups of their own.
var badValues = map[string][]struct{ set, message string }{
	"types, names and ranges": {
		{"channels[0].globalLimit=0", "'/channels/0/globalLimit': minimum: got 0, want 1"},
		{"channels[0].name=Bad_Name", "'/channels/0/name': 'Bad_Name' does not match pattern '^[a-z0-9][a-z0-9-]{0,62}$'"},
		{"channels[0].resolves=maybe", "'/channels/0/resolves': value must be one of 'auto', 'post', 'reply', 'edit'"},
		{"channels[0].onRedisDown=shut", "'/channels/0/onRedisDown': value must be one of 'local', 'closed', 'open'"},
		{"channels[0].globlLimit=5", "'/channels/0': additional properties 'globlLimit' not allowed"},
		{"channels[0].allowFrom={nonsense}", "'/channels/0/allowFrom/0': 'nonsense' does not match pattern"},
		{"channels[1].window=5m", "'/channels/1': missing property 'name'"},
		{"trustedProxies={10.0.0.0/99}", "'/trustedProxies/0': '10.0.0.0/99' does not match pattern"},
		{"redisURL=http://x", "'/redisURL': 'http://x' does not match pattern '^(rediss?://.+)?$'"},
		{"redis.addrs[0]=nowhere", "'/redis/addrs/0': 'nowhere' does not match pattern '^.*:[0-9]+$'"},
		{"logLevel=loud", "'/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"},
		{"env.PATH=x", "'/env': additional properties 'PATH' not allowed"},
		{"env.RELAY_REPLICAS=null", "'/env/RELAY_REPLICAS': got null, want "},
		{"env.RELAY_SLACK_TOKEN.secret=x", "'/env/RELAY_SLACK_TOKEN': missing property 'valueFrom'"},
		{"replicas=3", "additional properties 'replicas' not allowed"},
		{"traces.ratio=2", "'/traces/ratio'"},
		{"traces.endpoint=collector:4318", "'/traces/endpoint': 'collector:4318' does not match pattern '^(https?://.+)?$'"},
		{"image.tag=1.2@sha256:abc", "'/image/tag': '1.2@sha256:abc' does not match pattern"},
		{"image.digest=latest", "'/image/digest': 'latest' does not match pattern '^(sha256:[0-9a-f]{64})?$'"},
		{"imagePullSecrets[0].nam=x", "'/imagePullSecrets/0': missing property 'name'"},
		{"service.type=Loadbalancer", "'/service/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'"},
		{"podDisruptionBudget.maxUnavailable=lots", "'/podDisruptionBudget/maxUnavailable': 'lots' does not match pattern"},
		{"serviceMonitor.interval=soon", "'/serviceMonitor/interval': 'soon' does not match pattern"},
		{"bundledRedis.appendfsync=no", "'/bundledRedis/appendfsync': value must be one of 'always', 'everysec'"},
		{"ingress.paths={hooks}", "'/ingress/paths/0': 'hooks' does not match pattern '^/'"},
	},
	"a budget of none": {
		{"podDisruptionBudget.maxUnavailable=0", "'/podDisruptionBudget/maxUnavailable': minimum: got 0, want 1"},
	},
	"channels, durations and pods": {
		{
			"channels[0].name=a,channels[0].slackChannel=C1,channels[0].slackWebhookURL=https://x/y",
			"channels[0].slackChannel: it cannot be combined with slackWebhookURL; keep one",
		},
		{"channels[0].window=30", `channels[0].window: "30" is not a duration; use a unit, for example 30m`},
		{"channels[0].ttl=soon", `channels[0].ttl: "soon" is not a duration; use a unit, for example 30m`},
		{"channels[0].globalWindow=9999h", "channels[0].globalWindow: 9999h is out of range; use 1ms to 744h"},
		{"channels[1].name=a", `channels[1].name: "a" is the name of channels[0] too; use another name`},
		{"redis.timeout=5", `redis.timeout: "5" is not a duration; use a unit, for example 30m`},
		{"drain=20m", "drain: 20m is out of range; use 0s to 10m"},
		{
			"canary.interval=5m",
			"canary.interval: there is nowhere to send test messages to; set canary.slackChannel or canary.webhookURL",
		},
		{
			"config=channels: [",
			"config: it is not valid YAML: error converting YAML to JSON: yaml: line 1: did not find expected node content; correct the file",
		},
		{
			"env.RELAY_DRAIN=60s",
			"env.RELAY_DRAIN: the chart sets this variable from a value of its own; use that value and remove this entry",
		},
		{
			"externalURL=https://relay.example,env.RELAY_EXTERNAL_URL=https://other.example",
			"env.RELAY_EXTERNAL_URL: the chart sets this variable from a value of its own",
		},
		{"slackAppToken=x,env.RELAY_SLACK_APP_TOKEN=y", "env.RELAY_SLACK_APP_TOKEN: the chart sets this variable from a value of its own"},
		{"slackToken=x,env.RELAY_SLACK_TOKEN=y", "env.RELAY_SLACK_TOKEN: the chart sets this variable from a value of its own"},
		{
			"env.RELAY_SLACK_TIMEOUT=50s",
			"terminationGracePeriodSeconds: 45 is too short for preStopSeconds, drain, slack_timeout and redis.timeout",
		},
		{
			"resources.limits.memory=64Mi",
			"resources.limits.memory: 64Mi is too little for max_in_flight and max_body; use 256Mi at least, or lower them",
		},
		{
			"autoscaling.minReplicas=8,autoscaling.maxReplicas=3",
			"autoscaling.minReplicas: 8 is more than maxReplicas, 3; use a smaller number",
		},
		{"httpRoute.enabled=true", "httpRoute.parentRefs: it is empty; name the Gateway that the route belongs to"},
		{
			"service.externalTrafficPolicy=Local",
			"service.externalTrafficPolicy: a Service of type ClusterIP has none; use type LoadBalancer or NodePort",
		},
		{"tls.clientCertificates=true", "tls.clientCertificates: it needs TLS; set tls.secretName"},
		{
			"autoscaling.enabled=true,autoscaling.targetCPUUtilizationPercentage=80,resources.requests.cpu=",
			"autoscaling.targetCPUUtilizationPercentage: it is a share of resources.requests.cpu, which is not set; set it, or use targetCPU",
		},
		{
			"redisURL=",
			"autoscaling.maxReplicas: 3 replicas need a Redis that they share; set redisURL, redis.addrs or bundledRedis.enabled, or use 1",
		},
	},
	"settings of config that the chart sets": {
		{
			"config=drain: 9s",
			"config: drain has no effect here, because the chart sets RELAY_DRAIN from a value of its own; use that value instead",
		},
	},
	"no Redis": {
		{
			"redisURL=",
			"replicaCount: 2 replicas need a Redis that they share; set redisURL, redis.addrs or bundledRedis.enabled, or use 1",
		},
	},
	"Redis": {
		{"redisURL=redis://r,redis.addrs={a:1,b:1}", "redis.addrs: it cannot be combined with redisURL; keep one"},
		{"", "redis.addrs: it lists several servers; set redis.cluster, or redis.masterName for Sentinels"},
		{
			"redis.caSecret=ca",
			"redisURL: it does not use TLS, which redis.caSecret and redis.certificateSecret need; begin it with rediss://",
		},
		{"redisPassword=x,redis.passwordSecret.name=y", "redisPassword: it cannot be combined with redis.passwordSecret.name; keep one"},
	},
	"Redis without addresses": {
		{"redisURL=redis://r,redis.cluster=true,redis.masterName=m", "redis.masterName: it cannot be combined with redis.cluster"},
		{"", "redis.addrs: it is empty; redis.cluster, redis.masterName and redis.tls need it"},
	},
	"bundled Redis": {
		{"bundledRedis.enabled=true,redisURL=redis://r", "redisURL: it names another Redis than bundledRedis; leave one of them out"},
		{"redis.username=me", "redis.username: the Redis of bundledRedis has the default user only; leave it empty"},
		{"redis.waitReplicas=1", "redis.waitReplicas: the Redis of bundledRedis has no replica to wait for; use 0"},
		{"redis.caSecret=ca", "redis.caSecret: the Redis of bundledRedis does not use TLS"},
		{"redisPassword=", "redisPassword: the Redis of bundledRedis needs one; set it, or redis.passwordSecret.name, or existingSecret"},
		{
			"bundledRedis.maxMemory=1gb",
			"bundledRedis.maxMemory: 1gb is more than three quarters of the memory of the pod, 512Mi; use half of it, or raise",
		},
	},
	"an existing Secret": {
		{
			"existingSecret=mine,slackToken=x",
			"slackToken: it must not be in values when existingSecret is set; put it in the Secret mine",
		},
		{"slackAppToken=xapp-1", "slackAppToken: it must not be in values when existingSecret is set"},
		{"slackSigningSecret=x", "slackSigningSecret: it must not be in values when existingSecret is set"},
		{"adminToken=x", "adminToken: it must not be in values when existingSecret is set"},
		{"redisURL=redis://r", "redisURL: it must not be in values when existingSecret is set"},
		{"redisPassword=x", "redisPassword: it must not be in values when existingSecret is set"},
		{"operations.webhookURL=https://x", "operations.webhookURL: it must not be in values when existingSecret is set"},
		{"canary.webhookURL=https://x", "canary.webhookURL: it must not be in values when existingSecret is set"},
		{"traces.headers=a=b", "traces.headers: it must not be in values when existingSecret is set"},
		{
			"channels[0].name=a,channels[0].ingressToken=x",
			"channels[0].ingressToken: ingressToken must not be in values when existingSecret is set",
		},
	},
}

// What the relay or Kubernetes would refuse is refused before anything is installed, with the value, its fault and the remedy.
func TestInvalidValuesAreRefused(t *testing.T) {
	tried := 0
	for name, group := range badValues {
		tried += len(group)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"template", "my", "relay", kubernetes, "--set", "redisURL=redis://redis:6379/0"}
			if strings.Contains(name, "existing") || strings.Contains(name, "bundled") {
				args = args[:4]
			}
			for _, bad := range group {
				args = append(args, "--set", bad.set)
			}
			out, err := helm(t, args...)
			require.Error(t, err, out)
			for _, bad := range group {
				require.Contains(t, out, bad.message, bad.set)
			}
		})
	}
	require.GreaterOrEqual(t, tried, 40)
}

// Values that look unusual and are right are not refused.
func TestUnusualValuesAreAccepted(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(values, []byte(`
enabled: true
redis: {addrs: ["r:6379"], timeout: 500ms}
channels: [{name: a-b, window: 1h30m, ttl: 0s, pace: 0s, allowFrom: ["10.0.0.7", "fd00::/8", "0.0.0.0/0"]}]
env: {RELAY_MAX_IN_FLIGHT: 8388608, RELAY_SLACK_TIMEOUT: 15s, GOGC: 100}
resources: {limits: {memory: 144Mi}}
bundledRedis: {size: 10Gi}
podDisruptionBudget: {maxUnavailable: 25%}
config: "canary_slack_channel: C1\ncanary_within: 5m\nredis_wait_replicas: 1\nchannels: [{name: a-b}]"
`), 0o600))
	render(t, "--values", values)
	render(t, "--set", "replicaCount=1,redisURL=")
	render(t, "--set", "existingSecret=mine", "--set", "imagePullSecrets={one}")
}
