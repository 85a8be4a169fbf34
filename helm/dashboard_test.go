//go:build chart

package helm_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slackrelay/test/golden"
)

// panel is one chart of the dashboard for Grafana.
type panel struct {
	title, unit, help string
	width             int // of 24
	queries           []query
}

type query struct{ expr, legend string }

// grafana is the dashboard. Counters belong to a replica: they are added up. Gauges that all replicas read from Redis are
// the same on each: the maximum counts.
// release takes the place of $release in the queries: the series of the releases that the reader chose. Each has a namespace and a
// job.
const release = `namespace=~"$namespace",job=~"$job"`

var grafana = []panel{
	{"Received, sent, dropped", "short", "Events a minute, over all replicas.", 12, []query{
		{`sum by (outcome) (rate(relay_events_total{$release,channel=~"$channel"}[$__rate_interval])) * 60`, "{{outcome}}"},
	}},
	{"Dropped, by level", "short", "Which limit refuses, events a minute.", 12, []query{
		{
			`sum by (channel, level) (rate(relay_events_total{$release,channel=~"$channel",outcome="dropped"}[$__rate_interval])) * 60`,
			"{{channel}} {{level}}",
		},
	}},
	{"Slots used", "short", "Of each level within its window.", 12, []query{
		{`max by (channel, level) (relay_limit_used{$release,channel=~"$channel"})`, "{{channel}} {{level}}"},
	}},
	{"Busiest categories", "short", "Events a minute.", 12, []query{
		{
			`topk(10, sum by (channel, category) (rate(relay_events_total{$release,channel=~"$channel"}[$__rate_interval])) * 60)`,
			"{{channel}} {{category}}",
		},
	}},
	{"Waiting for Slack", "short", "Messages in the outbox.", 8, []query{
		{`max by (channel) (relay_outbox_pending{$release,channel=~"$channel"})`, "{{channel}}"},
	}},
	{"The oldest waits", "s", "Age of the oldest message in the outbox.", 8, []query{
		{`max by (channel) (relay_outbox_oldest_seconds{$release,channel=~"$channel"})`, "{{channel}}"},
	}},
	{"Paused", "short", "1 while a channel sends nothing.", 8, []query{
		{`max by (channel, reason) (relay_channel_paused{$release,channel=~"$channel"}) > 0`, "{{channel}} {{reason}}"},
	}},
	{"Posts to Slack", "short", "A minute, by result.", 8, []query{
		{`sum by (result) (rate(relay_messages_total{$release,channel=~"$channel"}[$__rate_interval])) * 60`, "{{result}}"},
	}},
	{"Slack answers within", "s", "Half, and 99 of 100 requests.", 8, []query{
		{
			`histogram_quantile(0.5, sum by (le) (rate(relay_slack_request_seconds_bucket{$release,channel=~"$channel"}[$__rate_interval])))`,
			"half",
		},
		{
			`histogram_quantile(0.99, sum by (le) (rate(relay_slack_request_seconds_bucket{$release,channel=~"$channel"}[$__rate_interval])))`,
			"99 of 100",
		},
	}},
	{"From admission to Slack", "s", "Half, and 99 of 100 messages.", 8, []query{
		{
			`histogram_quantile(0.5, sum by (le) (rate(relay_delivery_seconds_bucket{$release,channel=~"$channel"}[$__rate_interval])))`,
			"half",
		},
		{
			`histogram_quantile(0.99, sum by (le) (rate(relay_delivery_seconds_bucket{$release,channel=~"$channel"}[$__rate_interval])))`,
			"99 of 100",
		},
	}},
	{"Who decides", "short", "Decisions a minute: by Redis, by what is known to be closed, by the fallback.", 8, []query{
		{`sum by (decided_by) (rate(relay_limiter_decisions_total{$release}[$__rate_interval])) * 60`, "{{decided_by}}"},
	}},
	{"Ledger imbalance", "short", "0, or something is wrong.", 8, []query{
		{`max by (channel) (abs(relay_ledger_imbalance{$release,channel=~"$channel"}))`, "{{channel}}"},
	}},
	{"Redis, replicas, canary", "short", "Replicas that share the limits; 1 while all reach Redis; 1 while the canary is " +
		"missing; configurations in effect, versions that run.", 8, []query{
		{`max(relay_replicas{$release})`, "replicas"},
		{`min(relay_redis_up{$release})`, "redis up"},
		{`max(relay_canary_missing{$release})`, "canary missing"},
		{`count(count by (hash) (relay_config_info{$release}))`, "configurations"},
		{`count(count by (version) (relay_build_info{$release}))`, "versions"},
	}},
	{"Cannot post", "short", "1 while Slack refuses to post to the destination of a channel, or refuses its token. Nothing while all " +
		"channels can post.", 8, []query{
		{`max by (channel) (relay_channel_destination_fault{$release,channel=~"$channel"}) > 0`, "{{channel}}"},
	}},
	{"Refused requests", "short", "Refused requests a minute, by the code of the answer; without a channel if no " +
		"channel of that name is configured. The ledger does not count them.", 8, []query{
		{
			`sum by (channel, code) (rate(relay_requests_refused_total{$release,channel=~"$channel|"}[$__rate_interval])) * 60 > 0`,
			"{{channel}} {{code}}",
		},
	}},
	{"Missing heartbeats", "short", "1 while a heartbeat of a sender is missing. Nothing while all of them arrive.", 8, []query{
		{`max by (name) (relay_heartbeat_missing{$release}) > 0`, "{{name}}"},
	}},
}

const (
	gridWidth   = 24
	panelHeight = 8
)

// dashboardJSON is the dashboard as Grafana imports it.
func dashboardJSON(t *testing.T) []byte {
	t.Helper()
	source := object{"type": "prometheus", "uid": "${source}"}
	var panels []object
	x, y := 0, 0
	for i, p := range grafana {
		if x+p.width > gridWidth {
			x, y = 0, y+panelHeight
		}
		var targets []object
		for n, q := range p.queries {
			expr := strings.ReplaceAll(q.expr, "$release", release)
			targets = append(targets, object{"refId": string(rune('A' + n)), "expr": expr, "legendFormat": q.legend, "datasource": source})
		}
		panels = append(panels, object{
			"id": i + 1, "type": "timeseries", "title": p.title, "description": p.help, "datasource": source, "targets": targets,
			"gridPos":     object{"x": x, "y": y, "w": p.width, "h": panelHeight},
			"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []any{}},
		})
		x += p.width
	}
	encoded, err := json.MarshalIndent(object{
		"title": "Slack relay", "uid": "slack-relay", "tags": []string{"slack", "alerting"}, "schemaVersion": 39, "refresh": "30s",
		"time": object{"from": "now-3h", "to": "now"}, "panels": panels,
		"templating": object{"list": []object{
			{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
			labelVariable("namespace", "Namespace", "label_values(relay_redis_up, namespace)"),
			labelVariable("job", "Job", `label_values(relay_redis_up{namespace=~"$namespace"}, job)`),
			labelVariable("channel", "Channel", "label_values(relay_outbox_pending{"+release+"}, channel)"),
		}},
	}, "", "  ")
	require.NoError(t, err)
	return append(encoded, '\n')
}

// labelVariable is a choice at the top of the dashboard: some values of a label, or all.
func labelVariable(name, label, query string) object {
	return object{
		"name": name, "type": "query", "label": label, "datasource": object{"type": "prometheus", "uid": "${source}"}, "query": query,
		"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}, "refresh": 2,
	}
}

func TestGoldenGrafanaDashboard(t *testing.T) {
	golden.File(t, "relay/files/dashboard.json", dashboardJSON(t))
}

func TestTheChartRendersTheGrafanaDashboard(t *testing.T) {
	config := render(t, "--set", "grafanaDashboard.enabled=true")["ConfigMap/my-relay-dashboard"]
	require.Equal(t, "1", at[string](t, config, "metadata", "labels", "grafana_dashboard"))
	require.JSONEq(t, string(dashboardJSON(t)), at[string](t, config, "data", "relay.json"))
}

// Every query is one that Prometheus understands, asks for metrics that exist, and adds up or takes the maximum over
// replicas as the metric wants.
func TestTheQueriesOfTheDashboard(t *testing.T) {
	known := metricNames(t)
	variables := strings.NewReplacer("$__rate_interval", "5m", "$channel", ".*", "$namespace", ".*", "$job", ".*")
	var rules []object
	for i, p := range grafana {
		for n, q := range p.queries {
			rules = append(rules, object{
				"record": fmt.Sprintf("panel%d:query%d", i, n), "expr": variables.Replace(strings.ReplaceAll(q.expr, "$release", release)),
			})
			for _, name := range regexp.MustCompile(`relay_[a-z_]+`).FindAllString(q.expr, -1) {
				plain := strings.TrimSuffix(name, "_bucket")
				require.Contains(t, known, plain, p.title)
				counter := strings.HasSuffix(plain, "_total") || name != plain
				require.Equal(t, counter, strings.Contains(q.expr, "rate("+name), "%s: %s", p.title, name)
				if counter {
					require.Contains(t, q.expr, "sum by", "%s: counters of all replicas are added up", p.title)
				} else {
					require.Regexp(t, `^(max|min|count)\b`, q.expr, "%s: gauges are the same on all replicas", p.title)
				}
			}
		}
	}
	text, err := yaml.Marshal(object{"groups": []object{{"name": "panels", "rules": rules}}})
	require.NoError(t, err)
	file := t.TempDir() + "/rules.yaml"
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
