package server_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// Requests in flight are finished when the server stops.
func TestServeWaitsForRequestsInFlight(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	started, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(started)
		<-finish
		io.WriteString(w, "done")
	})
	stopped := make(chan error, 1)
	go func() {
		stopped <- server.Serve(ctx, listener, handler, server.ServeOptions{Logger: slog.New(slog.DiscardHandler), Grace: 10 * time.Second})
	}()
	replies := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			replies <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		replies <- string(body)
	}()
	<-started
	cancel()
	close(finish)
	require.Equal(t, "done", <-replies)
	require.NoError(t, <-stopped)
	http.DefaultClient.CloseIdleConnections()
}

// A sender that never finishes its headers or its body loses its connection after the timeout.
func TestSlowSenderIsCutOff(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	handler := setup(t).Public()
	go func() {
		stopped <- server.Serve(ctx, listener, handler, server.ServeOptions{
			Logger: slog.New(slog.DiscardHandler), Grace: time.Second, ReadTimeout: 300 * time.Millisecond,
		})
	}()
	for name, sent := range map[string]string{
		"headers": "POST /hooks/open HTTP/1.1\r\nHost: x\r\n",
		"body":    "POST /hooks/open HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", listener.Addr().String())
			require.NoError(t, err)
			_, err = io.WriteString(conn, sent)
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
			answer, err := io.ReadAll(conn)
			require.NoError(t, err, "the server closes it")
			if name == "body" {
				require.Contains(t, string(answer), "arrived too slowly")
			}
			require.NoError(t, conn.Close())
		})
	}
	cancel()
	require.NoError(t, <-stopped)
}
