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

// silencesAPI is the API of silences, with channel alerts.
type silencesAPI struct {
	*server.Server
	log *strings.Builder
}

const validSilence = `{"channel":"alerts","matchers":[{"field":"category","is":"disk"}],"for":"2h","author":"eve","reason":"migration"}`

func newSilencesAPI() silencesAPI {
	log := &strings.Builder{}
	return silencesAPI{log: log, Server: server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts"}}, Intake: &stubIntake{}, AdminToken: "4dm1n",
		Silences: silence.New(silence.Options{Store: silence.NewMemory(nil)}), Registry: prometheus.NewRegistry(),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})}
}

// call calls the API with a token; "" = none.
func (a silencesAPI) call(method, path, token, body string) (int, string) {
	r := httptest.NewRequest(method, "/api/v1/silences"+path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	status, _, answer := serve(a.Ops(), r)
	return status, string(answer)
}

func (a silencesAPI) create(t *testing.T) silence.Silence {
	t.Helper()
	status, answer := a.call(http.MethodPost, "", "4dm1n", validSilence)
	require.Equal(t, http.StatusCreated, status, answer)
	var created silence.Silence
	require.NoError(t, json.Unmarshal([]byte(answer), &created))
	return created
}

func TestInvalidSilenceIsRefused(t *testing.T) {
	t.Parallel()
	a := newSilencesAPI()
	for message, c := range map[string]struct {
		body   string
		status int
	}{
		"the body is not valid":            {`nonsense`, 400},
		`unknown field \"matcher\"`:        {`{"matcher":"x"}`, 400},
		`for: \"2\" is not a duration of`:  {`{"for":"2"}`, 400},
		`no channel is called \"nowhere\"`: {`{"channel":"nowhere","for":"2h"}`, 404},
		"it has no matcher":                {`{"for":"2h","author":"eve","reason":"x"}`, 400},
		"an author and a reason":           {`{"matchers":[{"field":"category","is":"x"}],"for":"2h"}`, 400},
		`field \"colour\" is unknown`:      {`{"matchers":[{"field":"colour","is":"x"}],"for":"2h","author":"eve","reason":"x"}`, 400},
	} {
		t.Run(message, func(t *testing.T) {
			status, answer := a.call(http.MethodPost, "", "4dm1n", c.body)
			require.Equal(t, c.status, status, answer)
			require.Contains(t, answer, message)
		})
	}
}

func TestSilencesAreListedWithTextsForAdminsOnly(t *testing.T) {
	t.Parallel()
	a := newSilencesAPI()
	created := a.create(t)
	status, answer := a.call(http.MethodGet, "", "4dm1n", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"reason":"migration","state":"active"`)
	_, answer = a.call(http.MethodGet, "", "", "")
	require.Contains(t, answer, created.ID)
	require.NotContains(t, answer, "migration")
}

func TestSilencesAreChangedAndAuditedForAdminsOnly(t *testing.T) {
	t.Parallel()
	a := newSilencesAPI()
	status, answer := a.call(http.MethodPost, "", "", validSilence)
	require.Equal(t, http.StatusUnauthorized, status, answer)
	created := a.create(t)
	status, _ = a.call(http.MethodDelete, "/"+created.ID, "", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = a.call(http.MethodDelete, "/other", "4dm1n", "")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = a.call(http.MethodDelete, "/"+created.ID, "4dm1n", "")
	require.Equal(t, http.StatusOK, status)
	_, answer = a.call(http.MethodGet, "", "4dm1n", "")
	require.Contains(t, answer, `"state":"ended"`)
	require.Equal(t, 2, strings.Count(a.log.String(), "msg=audit"))
}
