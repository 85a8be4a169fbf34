package test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
)

func doc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name + ".md")
	require.NoError(t, err)
	return string(text)
}

// Each accepts the body in its row of docs/api.md.
func TestEndpointsOfTheDocsExist(t *testing.T) {
	t.Parallel()
	text := doc(t, "api")
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_ADMIN_TOKEN=admin")
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1)
	require.Len(t, blocks, 2)
	status, answer := request(t, http.MethodPost, relay.public+"/hooks/alerts/generic", "", []byte(blocks[0][1]))
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
	var shown, receipt pipeline.Receipt
	require.NoError(t, json.Unmarshal([]byte(blocks[1][1]), &shown))
	require.NoError(t, json.Unmarshal(answer, &receipt))
	require.Equal(t, shown.Received, shown.Admitted+shown.Dropped)

	rows := regexp.MustCompile("(?m)^\\| `(GET|POST|DELETE) (/[^`?]*)[^`]*` \\|(?: `(\\{[^`]*\\})`)?").FindAllStringSubmatch(text, -1)
	require.Greater(t, len(rows), 20)
	for _, row := range rows {
		method, body := row[1], row[3]
		path := strings.NewReplacer("{channel}", "alerts", "{source}", "generic", "{id}", "x", "{token}", "x").Replace(row[2])
		if path == "/api/v1/stream" || strings.HasSuffix(path, "/events") {
			continue // they do not end
		}
		base := relay.ops
		if strings.HasPrefix(path, "/hooks") || strings.HasPrefix(path, "/services") || strings.HasPrefix(path, "/api/chat") {
			base, body = relay.public, `{"text":"x","channel":"alerts"}`
		}
		status, answer := request(t, method, base+path, "admin", []byte(body))
		require.NotEqual(t, http.StatusMethodNotAllowed, status, path)
		if status != http.StatusOK {
			require.Contains(t, []int{http.StatusCreated, http.StatusAccepted, http.StatusNoContent, http.StatusNotFound}, status, "%s %s: %s",
				method, path, answer)
		}
		if status == http.StatusNotFound {
			require.Contains(t, path, "/x", "%s %s", method, path)
			require.Contains(t, string(answer), `"error"`, "there is such an endpoint, and no such id")
		}
	}
}

// The table of docs/operating.md has no others.
func TestDocsNameEveryMetric(t *testing.T) {
	t.Parallel()
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(relay_\\w+)(?:\\{[^}]*\\})?` \\|").FindAllStringSubmatch(doc(t, "operating"), -1) {
		named = append(named, row[1])
	}
	redis, workspace := redistest.Start(t), startSlack(t)
	relay := startRelay(t, fast(redis.URL, workspace)...)
	relay.post(t, "alerts", map[string]string{"title": "x"})
	relay.drained(t, "alerts", 10*time.Second)
	_, answer := request(t, http.MethodGet, relay.ops+"/metrics", "", nil)
	var exposed []string
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (relay_\w+)`).FindAllStringSubmatch(string(answer), -1) {
		exposed = append(exposed, found[1])
	}
	exposed = append(exposed, "relay_heartbeat_missing", "relay_heartbeat_age_seconds")  // with heartbeats
	exposed = append(exposed, "relay_channel_fallback", "relay_redis_clock_steps_total") // while something is wrong with Redis
	exposed = append(exposed, "relay_decision_log_lines_total")                          // with decision_log
	exposed = append(exposed, "relay_template_fallbacks_total")                          // with a template
	require.ElementsMatch(t, exposed, named)
}
