package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// manyChannels is a server of channels c000, c001 and so on, of which at most 20 have metric series of their own. The reader
// counts how often the channels were read.
type manyChannels struct {
	bundle

	reads  *countingLimiter
	intake *pipeline.Intake
}

// countingLimiter counts the channels that are read.
type countingLimiter struct {
	*memory.Store

	channels int
	first    atomic.Pointer[func(ctx context.Context) error] // what a reading does first; nil = nothing
}

func (l *countingLimiter) Statuses(ctx context.Context, queries []store.StatusQuery) ([]store.ChannelStatus, error) {
	if first := l.first.Load(); first != nil {
		if err := (*first)(ctx); err != nil {
			return nil, err
		}
	}
	l.channels += len(queries)
	return l.Store.Statuses(ctx, queries)
}

func startMany(t *testing.T, n int) manyChannels {
	t.Helper()
	limiter := &countingLimiter{Store: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})}
	windows := []ratelimit.Window{{Limit: 5, Per: 3 * time.Hour}, {Limit: 6, Per: 6 * time.Hour}}
	tiers := levels(windows[0], windows[0])
	tiers[0].Windows = windows
	var channels []pipeline.Channel
	for i := range n {
		channels = append(channels, pipeline.Channel{Name: fmt.Sprintf("c%03d", i), Tiers: tiers})
	}
	registry, labels := prometheus.NewRegistry(), pipeline.NewChannelLabels(20)
	metrics := pipeline.NewMetrics(registry)
	metrics.Bound(labels)
	status := pipeline.NewStatusReader(limiter, channels, nil, nil)
	registry.MustRegister(server.NewGauges(func() *pipeline.StatusReader { return status }, labels))
	intake := pipeline.NewIntake(pipeline.IntakeOptions{Limiter: limiter, Channels: channels, Metrics: metrics, Wake: func(string) {}})
	for n, i := range []int{7, 7, 7, 7, 7, 7, 150} {
		_, err := intake.Admit(t.Context(), pipeline.Arrival{
			Channel: channels[i].Name, Events: []events.Event{{ID: fmt.Sprint(n), Title: "x", Category: "a"}},
		})
		require.NoError(t, err)
	}
	require.NoError(t, limiter.Pause(t.Context(), channels[9].Scope(), time.Hour, "by hand"))
	return manyChannels{reads: limiter, intake: intake, bundle: bundle{limiter: limiter.Store, Server: server.New(server.Options{
		Status: status, Registry: registry, Logger: slog.New(slog.DiscardHandler),
	})}}
}

// list returns the names of a page, and the value of after for the next one.
func (m manyChannels) list(t *testing.T, query string) (names, next string) {
	t.Helper()
	status, answer := m.get("/api/v1/channels?" + query)
	require.Equal(t, http.StatusOK, status, answer)
	var page struct {
		Channels []struct{ Channel string }
		Next     string
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &page))
	all := []string{}
	for _, ch := range page.Channels {
		all = append(all, ch.Channel)
	}
	return strings.Join(all, " "), page.Next
}

func TestChannelListIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	m := startMany(t, 200)
	all, next := m.list(t, "")
	require.Len(t, strings.Fields(all), 200)
	require.Empty(t, next)
	names, next := m.list(t, "limit=2")
	require.Equal(t, "c000 c001", names)
	require.Equal(t, "c001", next)
	names, _ = m.list(t, "limit=2&after="+next)
	require.Equal(t, "c002 c003", names)
	names, next = m.list(t, "name=C19&limit=9&after=c190")
	require.Equal(t, "c191 c192 c193 c194 c195 c196 c197 c198 c199", names)
	require.Empty(t, next)
	for state, want := range map[string]string{"paused": "c009", "full": "c007", "sending": "c150", "dropping": "", "fallback": ""} {
		names, _ = m.list(t, "state="+state)
		require.Equal(t, want, names, state)
	}
	names, _ = m.list(t, "state=idle&limit=8")
	require.Equal(t, "c000 c001 c002 c003 c004 c005 c006 c008", names)
	for query, fault := range map[string]string{
		"limit=0": `limit: \"0\" is not a number from 1 to 500`, "limit=501": "limit:", "state=tired": `state: \"tired\" is not a state`,
		"after=nowhere": `after: there is no channel \"nowhere\"; begin again without after`,
	} {
		status, answer := m.get("/api/v1/channels?" + query)
		require.Equal(t, http.StatusBadRequest, status, query)
		require.Contains(t, answer, fault)
	}
}

// The age says that the list is not of now.
func TestChannelsThatCannotBeReadAreListedAsTheyWereForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startMany(t, 200)
		fails := func(context.Context) error { return ratelimit.ErrUnavailable }
		m.reads.first.Store(&fails)
		status, _ := m.get("/api/v1/channels")
		require.Equal(t, http.StatusServiceUnavailable, status, "there was no reading yet")
		m.reads.first.Store(nil)
		names, _ := m.list(t, "limit=1")
		require.Equal(t, "c000", names)
		m.reads.first.Store(&fails)
		time.Sleep(time.Minute)
		status, header, answer := serve(m.Ops(), httptest.NewRequest(http.MethodGet, "/api/v1/channels", nil))
		require.Equal(t, http.StatusOK, status, "%s", answer)
		require.Equal(t, "60", header.Get("Age"))
		time.Sleep(time.Second)
		status, _ = m.get("/api/v1/channels")
		require.Equal(t, http.StatusServiceUnavailable, status)
	})
}

// All who ask within a second share one reading, and probes cause none.
func TestManyChannelsAreReadOnceForAllWhoAsk(t *testing.T) {
	t.Parallel()
	m := startMany(t, 200)
	for _, path := range []string{"/readyz", "/healthz"} {
		status, _ := m.get(path)
		require.Equal(t, http.StatusOK, status)
	}
	require.Zero(t, m.reads.channels)
	for range 3 {
		m.list(t, "limit=5")
		m.get("/metrics")
	}
	require.Equal(t, 200, m.reads.channels)
	_, answer := m.get("/readyz")
	require.Contains(t, answer, "channel c009 is paused: by hand")
	require.Equal(t, 200, m.reads.channels)
}

func TestOnlyActiveChannelsHaveSeriesOfTheirOwnAmongMany(t *testing.T) {
	t.Parallel()
	m := startMany(t, 200)
	_, answer := m.get("/metrics")
	for _, sample := range []string{
		`relay_outbox_pending{channel="c007"} 5`, `relay_outbox_pending{channel="c150"} 1`, `relay_outbox_pending{channel="other"} 0`,
		`relay_channel_paused{channel="c009",reason="by hand"} 1`, `relay_limit_used{channel="c007",level="channel"} 5`,
		`relay_limit_used{channel="other",level="channel"} 0`,
	} {
		require.Contains(t, answer+"\n", sample+"\n")
	}
	require.Equal(t, 4, strings.Count(answer, "relay_outbox_pending{"))
	require.Contains(t, answer, "relay_status_age_seconds ")
}

func TestMoreActiveChannelsThanSeriesAreSummed(t *testing.T) {
	t.Parallel()
	labels := pipeline.NewChannelLabels(2)
	require.Equal(t, []string{"a", "b", "other", "a"}, []string{labels.Of("a"), labels.Of("b"), labels.Of("c"), labels.Of("a")})
	require.Equal(t, "other", labels.Known("c"))
	require.Equal(t, "b", labels.Known("b"))
	require.True(t, labels.Fits(2))
	require.False(t, labels.Fits(3))
}

// A level of two windows has one series: two with the same labels would fail the scrape.
func TestLevelOfTwoWindowsHasOneSeries(t *testing.T) {
	t.Parallel()
	status, answer := startMany(t, 151).get("/metrics")
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, 1, strings.Count(answer, `relay_limit_used{channel="c007"`))
}

func TestStreamOfManyChannelsSendsThePageThatIsShown(t *testing.T) {
	t.Parallel()
	m := startMany(t, 200)
	ops := httptest.NewServer(m.Ops())
	t.Cleanup(ops.Close)
	lines := m.follow(t, ops.URL+"/api/v1/stream?limit=3&name=c1&selected=c007")
	first := lines.next(t)
	require.Equal(t, []string{"c100", "c101", "c102"}, first.Names)
	require.Equal(t, "c102", first.Next)
	require.Equal(t, 100, first.Matching)
	require.Equal(t, 200, first.Total)
	require.Equal(t, 1, first.Paused)
	require.Equal(t, []string{"c100 idle", "c101 idle", "c102 idle", "c007 full"}, first.channels())

	require.NoError(t, m.limiter.CountMuted(t.Context(), store.Channel{Name: "c150"}, 1)) // it is not shown
	require.NoError(t, m.limiter.Pause(t.Context(), store.Channel{Name: "c101"}, time.Hour, "by hand"))
	second := lines.next(t)
	require.Equal(t, 2, second.Paused)
	require.Contains(t, second.channels(), "c101 paused")
	require.NotContains(t, second.channels(), "c100 idle", "it did not change")
}
