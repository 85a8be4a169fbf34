package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
)

// otlp is a collector of traces.
type otlp struct {
	*httptest.Server
	mu      sync.Mutex
	all     []*trace.Span
	raw     bytes.Buffer // of everything that was sent to it
	headers http.Header  // of the last request
}

func startCollector(t *testing.T) *otlp {
	t.Helper()
	c := &otlp{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if r.URL.Path != "/v1/traces" || err != nil || proto.Unmarshal(body, &request) != nil {
			http.Error(w, "no traces", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		c.headers = r.Header
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.all = append(c.all, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// of returns the spans of a trace so far, by name.
func (c *otlp) of(id string) map[string]*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]*trace.Span{}
	for _, span := range c.all {
		if fmt.Sprintf("%x", span.GetTraceId()) == id {
			found[span.GetName()] = span
		}
	}
	return found
}

// waitFor waits for a trace to have so many spans of different names.
func (c *otlp) waitFor(t *testing.T, id string, spans int) map[string]*trace.Span {
	t.Helper()
	require.Eventually(t, func() bool { return len(c.of(id)) >= spans }, 20*time.Second, 10*time.Millisecond)
	return c.of(id)
}

// attributes returns those of a span as text.
func attributes(span *trace.Span) map[string]string {
	all := map[string]string{}
	for _, a := range span.GetAttributes() {
		switch value := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.GetKey()] = value.StringValue
		case *common.AnyValue_IntValue:
			all[a.GetKey()] = fmt.Sprint(value.IntValue)
		case *common.AnyValue_BoolValue:
			all[a.GetKey()] = fmt.Sprint(value.BoolValue)
		}
	}
	return all
}

// postTraced posts a webhook that belongs to a trace of its sender.
func postTraced(t *testing.T, url, traceparent string, body any) {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(data))
	require.NoError(t, err)
	r.Header.Set("Traceparent", traceparent)
	reply, err := client.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	require.Less(t, reply.StatusCode, 300)
}

// A trace covers the sender, the webhook, the outbox and Slack's answer, whichever replica posts. A dropped event and the log
// lines name it, and it contains no secret and no text of an event.
func TestOneTraceFromWebhookToSlack(t *testing.T) {
	t.Parallel()
	workspace, redis, traces := startSlack(t), redistest.Start(t), startCollector(t)
	env := fast(redis.URL, workspace, "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=hunter2-in", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1",
		"RELAY_OTLP_ENDPOINT="+traces.URL, "RELAY_OTLP_HEADERS=x-key=hunter2-key", "RELAY_ADMIN_TOKEN=hunter2-admin")
	takes, other := startRelay(t, env...), startRelay(t, env...)
	const id, sender = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	postTraced(t, takes.public+"/services/alerts/hunter2-in?category=first", "00-"+id+"-"+sender+"-01",
		map[string]string{"text": "hunter2-text"})
	spans := traces.waitFor(t, id, 4)
	webhook, admit, deliver, post := spans["webhook /services/{channel}/{token...}"], spans["admit"], spans["deliver"], spans["slack post"]
	require.Equal(t, sender, fmt.Sprintf("%x", webhook.GetParentSpanId()))
	require.Equal(t, webhook.GetSpanId(), admit.GetParentSpanId())
	require.Equal(t, webhook.GetSpanId(), deliver.GetParentSpanId())
	require.Equal(t, deliver.GetSpanId(), post.GetParentSpanId())
	require.Equal(t, "1", attributes(webhook)["relay.admitted"])
	require.Equal(t, "200", attributes(webhook)["http.response.status_code"])
	require.Equal(t, "1", attributes(admit)["relay.admitted"])
	require.Equal(t, "delivered", attributes(deliver)["relay.result"])
	require.Equal(t, workspace.Posts()[0].TS, attributes(post)["slack.ts"])
	require.Contains(t, takes.output.String(), `"msg":"webhook accepted","channel":"alerts"`)
	require.Contains(t, takes.output.String(), `"trace_id":"`+id+`"`)

	const second = "11111111111111111111111111111111"
	postTraced(t, other.public+"/services/alerts/hunter2-in?category=first", "00-"+second+"-"+sender+"-01", map[string]string{"text": "again"})
	require.Equal(t, "category", attributes(traces.waitFor(t, second, 2)["admit"])["relay.level"])
	var list struct{ Drops []pipeline.DropRecord }
	status, body := request(t, http.MethodGet, takes.ops+"/api/v1/channels/alerts/drops", "hunter2-admin", nil)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal(body, &list))
	require.Contains(t, list.Drops[0].Event.Trace, second, "what was dropped names its trace")

	workspace.Script("C0ALERTS", fakeslack.Reply{Body: `{"ok":false,"error":"is_archived"}`})
	const dead = "22222222222222222222222222222222"
	postTraced(t, takes.public+"/services/alerts/hunter2-in?category=dead", "00-"+dead+"-"+sender+"-01", map[string]string{"text": "dead"})
	spans = traces.waitFor(t, dead, 4)
	require.Equal(t, "failed", attributes(spans["deliver"])["relay.result"])
	require.Equal(t, "is_archived", attributes(spans["slack post"])["error.type"])
	require.Equal(t, trace.Status_STATUS_CODE_ERROR, spans["slack post"].GetStatus().GetCode())

	traces.mu.Lock()
	defer traces.mu.Unlock()
	require.Equal(t, "hunter2-key", traces.headers.Get("X-Key"))
	for _, secret := range []string{"hunter2", "xoxb-test"} {
		require.NotContains(t, traces.raw.String(), secret)
	}
}

// A sender that does not want a trace gets none, and one without a wish gets the configured share. The last spans are sent
// when the relay stops. Without a collector nothing is traced, and a collector that is away costs nothing.
func TestSampledShareIsTraced(t *testing.T) {
	t.Parallel()
	workspace, traces := startSlack(t), startCollector(t)
	plain := []string{
		"RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL=" + workspace.APIURL(),
		"RELAY_CHANNELS=alerts", "RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS",
	}
	relay := startRelay(t, append(plain, "RELAY_OTLP_ENDPOINT="+traces.URL+"/")...)
	postTraced(t, relay.public+"/hooks/alerts", "00-"+strings.Repeat("3", 32)+"-00f067aa0ba902b7-00", map[string]string{"title": "quiet"})
	relay.post(t, "alerts", map[string]string{"title": "its own trace"})
	relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, 0, relay.stop())
	require.Empty(t, traces.of(strings.Repeat("3", 32)))
	require.Len(t, traces.all, 4, "webhook, admit, deliver, slack post")

	for name, more := range map[string][]string{
		"ratio 0":                {"RELAY_TRACE_RATIO=0", "RELAY_OTLP_ENDPOINT=" + traces.URL},
		"no collector":           {},
		"collector that is away": {"RELAY_OTLP_ENDPOINT=http://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			relay := startRelay(t, append(slices.Clone(plain), more...)...)
			relay.post(t, "alerts", map[string]string{"title": "no trace"})
			relay.drained(t, "alerts", 10*time.Second)
			require.Equal(t, 0, relay.stop())
		})
	}
	require.Len(t, traces.all, 4)
}

// A refused request makes no span, and a stranger's wish counts only where some are traced anyway.
func TestUnauthenticatedSendersAreNotTraced(t *testing.T) {
	t.Parallel()
	traces := startCollector(t)
	traced := func(path, token, id string) {
		relay := startRelay(t, "RELAY_CHANNELS=open,tok", "RELAY_CHANNEL_TOK_INGRESS_TOKEN=s3cret", "RELAY_OTLP_ENDPOINT="+traces.URL,
			"RELAY_TRACE_RATIO=0")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, relay.public+path, strings.NewReader(`{"title":"x"}`))
		require.NoError(t, err)
		r.Header.Set("Traceparent", "00-"+strings.Repeat(id, 32)+"-00f067aa0ba902b7-01")
		r.Header.Set("Authorization", "Bearer "+token)
		reply, err := client.Do(r)
		require.NoError(t, err)
		reply.Body.Close()
		require.Equal(t, 0, relay.stop())
	}
	traced("/hooks/tok", "wrong", "4")
	traced("/hooks/nowhere", "", "5")
	traced("/hooks/open", "", "6")
	require.Empty(t, traces.all)
	traced("/hooks/tok", "s3cret", "7")
	require.Contains(t, traces.of(strings.Repeat("7", 32)), "webhook /hooks/{channel}", "an authenticated sender decides")
	relay := startRelay(t, "RELAY_CHANNELS=tok", "RELAY_CHANNEL_TOK_INGRESS_TOKEN=s3cret", "RELAY_OTLP_ENDPOINT="+traces.URL)
	status, _ := request(t, http.MethodPost, relay.public+"/hooks/tok", "wrong", []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusUnauthorized, status)
	before := len(traces.all)
	require.Equal(t, 0, relay.stop())
	require.Len(t, traces.all, before, "nor when all are traced")
}

// The key in otlp_headers is for the configured collector alone.
func TestTracesFollowNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := startCollector(t)
	redirects := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/traces", http.StatusTemporaryRedirect))
	t.Cleanup(redirects.Close)
	relay := startRelay(t, "RELAY_OTLP_ENDPOINT="+redirects.URL, "RELAY_OTLP_HEADERS=x-key=hunter2-key")
	relay.post(t, "default", map[string]string{"title": "x"})
	relay.drained(t, "default", 10*time.Second)
	require.Equal(t, 0, relay.stop())
	require.Empty(t, elsewhere.all)
	require.Contains(t, relay.output.String(), "does not follow; set otlp_endpoint")
	require.NotContains(t, relay.output.String(), "hunter2")
}
