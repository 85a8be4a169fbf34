package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/server"
	"slackrelay/silence"
)

func TestSilencesAPI(t *testing.T) {
	t.Parallel()
	log := &strings.Builder{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts"}}, Intake: &taken{}, AdminToken: "4dm1n", Logger: slog.New(slog.NewTextHandler(log, nil)),
		Silences: silence.New(silence.Options{Store: silence.NewMemory(nil)}), Registry: prometheus.NewRegistry(),
	})
	call := func(method, path, token, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		status, _, answer := serve(s.Ops(), r)
		return status, string(answer)
	}
	good := `{"channel":"alerts","matchers":[{"field":"category","is":"disk"}],"for":"2h","author":"eve","reason":"migration"}`
	status, answer := call(http.MethodPost, "/api/v1/silences", "", good)
	require.Equal(t, http.StatusUnauthorized, status, answer)
	for says, body := range map[string]string{
		"the body cannot be read":          `nonsense`,
		`unknown field \"matcher\"`:        `{"matcher":"x"}`,
		`for is \"2\"; write how long`:     `{"for":"2"}`,
		`no channel is called \"nowhere\"`: `{"channel":"nowhere","for":"2h"}`,
		"it needs a matcher":               `{"for":"2h","author":"eve","reason":"x"}`,
		"an author and a reason":           `{"matchers":[{"field":"category","is":"x"}],"for":"2h"}`,
		`field \"colour\" is unknown`:      `{"matchers":[{"field":"colour","is":"x"}],"for":"2h","author":"eve","reason":"x"}`,
	} {
		status, answer := call(http.MethodPost, "/api/v1/silences", "4dm1n", body)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, status, answer)
		require.Contains(t, answer, says)
	}
	status, answer = call(http.MethodPost, "/api/v1/silences", "4dm1n", good)
	require.Equal(t, http.StatusCreated, status, answer)
	var made silence.Silence
	require.NoError(t, json.Unmarshal([]byte(answer), &made))

	status, answer = call(http.MethodGet, "/api/v1/silences", "4dm1n", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"reason":"migration","state":"active"`)
	_, answer = call(http.MethodGet, "/api/v1/silences", "", "")
	require.Contains(t, answer, made.ID)
	require.NotContains(t, answer, "migration", "words are shown with the token only")

	status, _ = call(http.MethodDelete, "/api/v1/silences/"+made.ID, "", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = call(http.MethodDelete, "/api/v1/silences/other", "4dm1n", "")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = call(http.MethodDelete, "/api/v1/silences/"+made.ID, "4dm1n", "")
	require.Equal(t, http.StatusOK, status)
	_, answer = call(http.MethodGet, "/api/v1/silences", "4dm1n", "")
	require.Contains(t, answer, `"state":"ended"`)
	require.Equal(t, 2, strings.Count(log.String(), "msg=audit"))
}
