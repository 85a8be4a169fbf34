package server_test

import (
	"bytes"
	"context"
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
	"go.uber.org/goleak"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a server on the in-memory engines, without delivery.
type bundle struct {
	*server.Server
	limiter *memory.Store
	log     *bytes.Buffer
}

func setup(tb testing.TB) bundle {
	tb.Helper()
	limiter := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	window := func(limit int64) ratelimit.Window { return ratelimit.Window{Limit: limit, Per: 30 * time.Minute} }
	channels := []pipeline.Channel{
		{Name: "open", Tiers: levels(window(3), window(2)), Pace: store.Pace{Burst: 1}},
		{Name: "guarded", Tiers: levels(window(3), window(2)), Pace: store.Pace{Burst: 1}},
	}
	registry := prometheus.NewRegistry()
	status := pipeline.NewStatusReader(limiter, channels, nil, nil)
	registry.MustRegister(server.NewGauges(func() *pipeline.StatusReader { return status }, nil))
	log := &bytes.Buffer{}
	return bundle{limiter: limiter, log: log, Server: server.New(server.Options{
		Channels: []server.Channel{{Name: "open"}, {Name: "guarded", IngressToken: "s3cret"}},
		Intake: pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: channels, Metrics: pipeline.NewMetrics(registry), Wake: func(string) {},
		}),
		Status: status, Registry: registry, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})}
}

func (b bundle) nothingStored(t *testing.T) {
	t.Helper()
	for _, channel := range []string{"open", "guarded"} {
		report, err := b.limiter.Report(t.Context(), store.Channel{Group: channel, Name: channel})
		require.NoError(t, err)
		require.Equal(t, store.Report{}, report)
	}
}

func serve(handler http.Handler, r *http.Request) (int, http.Header, []byte) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.Bytes()
}

func post(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

// stubIntake keeps what it was passed, and returns receipt and err.
type stubIntake struct {
	sender string
	header http.Header
	events []events.Event
	err    error

	receipt pipeline.Receipt
}

func (s *stubIntake) Admit(_ context.Context, a pipeline.Arrival) (pipeline.Receipt, error) {
	s.sender, s.header, s.events = a.Sender, a.Header, a.Events
	return s.receipt, s.err
}

func levels(channel, category ratelimit.Window) []ratelimit.LevelSpec {
	return []ratelimit.LevelSpec{
		{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{channel}},
		{Name: ratelimit.LevelCategory, Windows: []ratelimit.Window{category}},
	}
}

// relay is a public listener with the in-memory engines, reached by HTTP.
type relay struct {
	tb     testing.TB
	url    string
	client *http.Client
}

// newRelay starts a relay whose channels admit everything.
func newRelay(tb testing.TB, opts server.Options) relay {
	tb.Helper()
	data := memory.NewData(memory.DataOptions{})
	var channels []pipeline.Channel
	for _, ch := range opts.Channels {
		window := ratelimit.Window{Limit: 1000, Per: time.Hour}
		channels = append(channels, pipeline.Channel{Name: ch.Name, Tiers: levels(window, window)})
	}
	opts.Intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: memory.New(data, memory.Options{}), Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(string) {},
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

// send posts a body, and returns the outcomes of its events, or the code of the error.
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
