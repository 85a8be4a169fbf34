package app

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/configs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// localConfig is a relay without Redis and Slack, on free ports.
func localConfig() configs.Config {
	cfg := configs.Default()
	cfg.Listen = "127.0.0.1:0"
	cfg.OpsListen = "127.0.0.1:0"
	cfg.Drain = 0
	return cfg
}

// start runs a relay until the returned function stops it.
func start(t *testing.T, opts Options) (r *Relay, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := New(ctx, opts)
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- r.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-stopped
	})
	t.Cleanup(func() { _ = stop() })
	return r, stop
}

// postEvent posts an event, and returns the status of the answer.
func postEvent(t *testing.T, r *Relay, channel string) int {
	t.Helper()
	url := fmt.Sprintf("http://%s/hooks/%s", r.PublicAddr(), channel)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"title":"Disk full"}`))
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

func TestRelayServesUntilItsContextEnds(t *testing.T) {
	cfg := localConfig()
	r, stop := start(t, Options{Config: &cfg})
	require.Equal(t, http.StatusAccepted, postEvent(t, r, "default"))
	require.Eventually(t, func() bool {
		status, err := r.Status().Channel(t.Context(), "default")
		return err == nil && status.Ledger.Delivered == 1
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, stop())
}

func TestRunRefusesAnInvalidConfiguration(t *testing.T) {
	err := Run(t.Context(), Options{Flags: configs.Flags{File: "/does/not/exist.yaml"}})
	require.True(t, configs.IsInvalid(err), "%v", err)
}

func TestATakenPortEndsTheStartAndReleasesTheOther(t *testing.T) {
	cfg := localConfig()
	first, _ := start(t, Options{Config: &cfg})
	second := localConfig()
	second.OpsListen = first.OpsAddr().String()
	_, err := New(t.Context(), Options{Config: &second})
	require.ErrorContains(t, err, "set RELAY_OPS_LISTEN to another address")
}

func TestAChangedFileReplacesTheGeneration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "relay.yaml")
	write := func(channel string) {
		text := "listen: 127.0.0.1:0\nops_listen: 127.0.0.1:0\ndrain: 0s\nchannels: [{name: " + channel + "}]\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("before")
	r, stop := start(t, Options{Flags: configs.Flags{File: file}})
	require.Equal(t, []string{"before"}, r.Status().Channels())
	write("after")
	require.Eventually(t, func() bool { return r.Status().Channels()[0] == "after" }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, http.StatusNotFound, postEvent(t, r, "before"))
	require.Equal(t, http.StatusAccepted, postEvent(t, r, "after"))
	require.NoError(t, stop())
}

func TestAGivenConfigurationIsNeverReloaded(t *testing.T) {
	cfg := localConfig()
	r, stop := start(t, Options{Config: &cfg, Flags: configs.Flags{File: "/does/not/exist.yaml"}})
	before := r.current.Load()
	r.reloader.reload(t.Context(), true)
	require.Same(t, before, r.current.Load())
	require.NoError(t, stop())
}
