package events_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// What the rival, encoding/json, decodes into: the fields that the decoders read, and nothing else.
type (
	plainAlerts struct {
		Status       string            `json:"status"`
		ExternalURL  string            `json:"externalURL"`
		GroupLabels  map[string]string `json:"groupLabels"`
		CommonLabels map[string]string `json:"commonLabels"`
		Truncated    float64           `json:"truncatedAlerts"`
		Alerts       []struct {
			Status       string            `json:"status"`
			Labels       map[string]string `json:"labels"`
			Annotations  map[string]string `json:"annotations"`
			StartsAt     string            `json:"startsAt"`
			GeneratorURL string            `json:"generatorURL"`
			Fingerprint  string            `json:"fingerprint"`
		} `json:"alerts"`
	}
	plainPush struct {
		Ref        string `json:"ref"`
		Compare    string `json:"compare"`
		Forced     bool   `json:"forced"`
		Repository struct {
			FullName string `json:"full_name"`
			HTMLURL  string `json:"html_url"`
		} `json:"repository"`
		Sender struct {
			Login string `json:"login"`
		} `json:"sender"`
		Commits []struct {
			ID      string `json:"id"`
			Message string `json:"message"`
			Author  struct {
				Name     string `json:"name"`
				Username string `json:"username"`
			} `json:"author"`
		} `json:"commits"`
	}
)

// alertmanager20 is a webhook of Alertmanager with 20 alerts, about 11 KB.
func alertmanager20() []byte {
	var b bytes.Buffer
	b.WriteString(`{"receiver":"team","status":"firing","alerts":[`)
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"status":"firing",`+
			`"labels":{"alertname":"HighErrorRate","instance":"10.0.%d.7:9090",`+
			`"job":"api","namespace":"payments","pod":"api-7d9f8c6b5-x%dk2",`+
			`"severity":"critical","team":"core"},`+
			`"annotations":{"description":"The error rate of api-%d is 12.3 %% over the last 5 minutes, above 5 %%.",`+
			`"runbook_url":"https://runbooks.example/api/high-error-rate","summary":"High error rate on api-%d"},`+
			`"startsAt":"2026-11-20T07:31:%02d.123Z","endsAt":"0001-01-01T00:00:00Z",`+
			`"generatorURL":"http://prometheus.example:9090/graph?g0.expr=rate%%28x%%29","fingerprint":"%016x"}`,
			i, i, i, i, i, i)
	}
	b.WriteString(`],"groupLabels":{"alertname":"HighErrorRate"},` +
		`"commonLabels":{"alertname":"HighErrorRate","severity":"critical"},` +
		`"commonAnnotations":{},"externalURL":"http://am.example:9093","version":"4","groupKey":"{}","truncatedAlerts":0}`)
	return b.Bytes()
}

// githubPush is a push of about 230 commits, 100 KiB.
func githubPush() []byte {
	var b bytes.Buffer
	b.WriteString(`{"ref":"refs/heads/main","before":"000","after":"111",` +
		`"compare":"https://github.com/acme/shop/compare/a...b","forced":false,` +
		`"repository":{"id":1,"node_id":"R_1","full_name":"acme/shop","html_url":"https://github.com/acme/shop"},` +
		`"sender":{"login":"ada","node_id":"U_1"},"commits":[`)
	for i := 0; b.Len() < 100<<10; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%040x","tree_id":"%040x","distinct":true,`+
			`"message":"Fix the thing number %d\n\nIt was \"broken\" before.",`+
			`"timestamp":"2026-11-20T07:31:00+01:00","url":"https://github.com/acme/shop/commit/%040x",`+
			`"author":{"name":"Ada","email":"ada@example.com","username":"ada"},`+
			`"committer":{"name":"GitHub","email":"noreply@example.com","username":"web-flow"},`+
			`"added":["a/b/c%d.go"],"removed":[],"modified":["README.md","cmd/x/main.go","y/y.go"]}`,
			i, i, i, i, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// BenchmarkDecode decodes webhooks into events, with all checks, against encoding/json, which fills structs with the same
// fields and checks nothing. They alternate within one run; the ratio is that of their times.
func BenchmarkDecode(b *testing.B) {
	for name, c := range map[string]struct {
		body  []byte
		plain func() any
	}{
		"alertmanager20": {alertmanager20(), func() any { return new(plainAlerts) }},
		"githubPush100K": {githubPush(), func() any { return new(plainPush) }},
	} {
		ours := func(b *testing.B) {
			b.Helper()
			all, err := events.Decode(events.Webhook{Body: c.body})
			require.NoError(b, err)
			require.NotEmpty(b, all)
		}
		theirs := func(b *testing.B) {
			b.Helper()
			require.NoError(b, stdjson.Unmarshal(c.body, c.plain()))
		}
		b.Run(name+"/relay", func(b *testing.B) { alone(b, len(c.body), ours) })
		b.Run(name+"/encoding-json", func(b *testing.B) { alone(b, len(c.body), theirs) })
		b.Run(name+"/ratio", func(b *testing.B) {
			var us, them time.Duration
			for b.Loop() {
				us += timed(func() { ours(b) })
				them += timed(func() { theirs(b) })
			}
			b.ReportMetric(them.Seconds()/us.Seconds(), "x-encoding/json")
		})
	}
}

// BenchmarkDecodeGolden decodes webhooks of other frequent sources, and one of no known source.
func BenchmarkDecodeGolden(b *testing.B) {
	for _, file := range []string{"generic/single", "generic/foreign_nested", "grafana/firing", "sentry/error"} {
		raw, err := os.ReadFile("testdata/" + file + ".json")
		require.NoError(b, err)
		var e example
		require.NoError(b, stdjson.Unmarshal(raw, &e))
		w := e.webhook()
		b.Run(file, func(b *testing.B) {
			alone(b, len(w.Body), func(b *testing.B) {
				b.Helper()
				all, err := events.Decode(w)
				require.NoError(b, err)
				require.NotEmpty(b, all)
			})
		})
	}
}

func alone(b *testing.B, size int, f func(b *testing.B)) {
	b.Helper()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		f(b)
	}
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
