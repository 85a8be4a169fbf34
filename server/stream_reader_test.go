package server_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// streamed is a message of the stream.
type streamed struct {
	Names                   []string
	Next                    string
	Matching, Total, Paused int
	Channels                []struct{ Channel, Condition string }
}

// channels returns the channels of the message with their conditions.
func (s streamed) channels() (all []string) {
	for _, ch := range s.Channels {
		all = append(all, ch.Channel+" "+ch.Condition)
	}
	return all
}

// streamReader reads the messages of a stream.
type streamReader struct{ lines *bufio.Scanner }

func (m manyChannels) follow(t *testing.T, url string) streamReader {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := client.Do(r)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	t.Cleanup(func() { _ = response.Body.Close() })
	t.Cleanup(m.Retire)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return streamReader{lines}
}

func (s streamReader) next(t *testing.T) (message streamed) {
	t.Helper()
	for s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			require.NoError(t, json.Unmarshal([]byte(data), &message))
			return message
		}
	}
	require.Fail(t, "the stream ended")
	return message
}
