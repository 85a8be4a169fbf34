package server_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store/memory"
)

// relay is a public listener with the limits behind it, reached by HTTP.
type relay struct {
	tb     testing.TB
	url    string
	client *http.Client
}

// newRelay starts one. Its channels admit all.
func newRelay(tb testing.TB, opts server.Options) relay {
	tb.Helper()
	data := memory.NewData(memory.DataOptions{})
	var channels []pipeline.Channel
	for _, ch := range opts.Channels {
		window := ratelimit.Window{Limit: 1000, Per: time.Hour}
		tiers := []ratelimit.LevelSpec{{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{window}}, {Name: ratelimit.LevelCategory, Windows: []ratelimit.Window{window}}}
		channels = append(channels, pipeline.Channel{Name: ch.Name, Tiers: tiers})
	}
	opts.Intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: memory.New(data, memory.Options{}), Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Admitted: func(string) {},
	})
	opts.Logger = slog.New(slog.DiscardHandler)
	for _, ch := range opts.Channels {
		for _, c := range ch.Credentials {
			require.NoError(tb, c.Check())
		}
	}
	listener := httptest.NewServer(server.New(opts).Public())
	tb.Cleanup(listener.Close)
	return relay{tb: tb, url: listener.URL, client: listener.Client()}
}

// send posts a body, and says what became of its events: their outcomes, or the code of the error.
func (r relay) send(path, body string, header http.Header) string {
	r.tb.Helper()
	request, err := http.NewRequestWithContext(r.tb.Context(), http.MethodPost, r.url+path, strings.NewReader(body))
	require.NoError(r.tb, err)
	request.Header.Set("Content-Type", "application/json")
	maps.Copy(request.Header, header)
	response, err := r.client.Do(request)
	require.NoError(r.tb, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(r.tb, err)
	var receipt struct {
		Events []struct{ Outcome string }
		Error  struct{ Code string }
	}
	require.NoError(r.tb, json.Unmarshal(answer, &receipt), "%s", answer)
	var all []string
	for _, e := range receipt.Events {
		all = append(all, e.Outcome)
	}
	if receipt.Error.Code != "" {
		all = append(all, receipt.Error.Code)
	}
	return strings.Join(all, " ")
}
