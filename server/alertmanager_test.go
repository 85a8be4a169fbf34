package server_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/silence"
)

// alertList keeps the alerts that it was passed, which all fire.
type alertList struct {
	arrival pipeline.Arrival
	posted  []problem.Alert
	err     error
}

func (l *alertList) Post(_ context.Context, arrival pipeline.Arrival, posted []problem.Alert) error {
	l.arrival = arrival
	l.posted = posted
	return l.err
}

func (l *alertList) List(context.Context, string) (time.Time, []problem.Alert, error) {
	return time.Now(), l.posted, l.err
}

// alertmanager is a server with Alertmanager's API: channel alerts has the token tok, which may not silence, and a credential that
// may; channel open has none.
type alertmanager struct {
	t      testing.TB
	alerts *alertList
	public http.Handler
}

func newAlertmanager(tb testing.TB) alertmanager {
	tb.Helper()
	silencer := silence.New(silence.Options{Store: silence.NewMemory(nil)})
	alerts := &alertList{}
	s := server.New(server.Options{
		Channels: []server.Channel{
			{Name: "alerts", IngressToken: "tok", Credentials: []server.Credential{
				{Name: "karma", Kind: "bearer", Secret: "ktok", Silences: true},
				{Name: "ci", Kind: "hmac", Header: "X-Sig", Secret: "s3cret"},
			}},
			{Name: "other", Credentials: []server.Credential{{Name: "o", Kind: "bearer", Secret: "otok", Silences: true}}},
			{Name: "open"},
		},
		Intake: &stubIntake{}, Alerts: alerts, Silences: silencer, AdminToken: "admin", Logger: slog.New(slog.DiscardHandler),
	})
	return alertmanager{t: tb, alerts: alerts, public: s.Public()}
}

// call makes a request to /alertmanager/alerts, or to a path from the root, with a token as Authorization.
func (a alertmanager) call(token, method, path, body string) (int, string) {
	a.t.Helper()
	if !strings.HasPrefix(path, "//") {
		path = "//alertmanager/alerts" + path
	}
	r := httptest.NewRequest(method, "http://relay"+path[1:], strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	status, _, answer := serve(a.public, r)
	return status, strings.TrimSuffix(string(answer), "\n")
}

// The bodies and statuses are those of Alertmanager 0.25.
func TestPostedAlertsAreCheckedAsByAlertmanager(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token, method, path, body string
		status                    int
		reply                     string
		posted                    int
		fails                     error
	}{
		"none":    {body: `[]`, status: 200},
		"one":     {body: `[{"labels":{"alertname":"x","e":""}}]`, status: 200, posted: 1},
		"no body": {status: 422, reply: `{"code":602,"message":"alerts in body is required"}`},
		"not JSON": {
			body: `{`, status: 400,
			reply: `{"code":400,"message":"parsing alerts body from \"\" failed, because unexpected end of JSON input"}`,
		},
		"an object": {
			body: `{}`, status: 400, reply: `{"code":400,"message":"parsing alerts body from \"\" failed, because json: ` +
				`cannot unmarshal object into Go value of type []server.postedAlert"}`,
		},
		"no labels":          {body: `[{"labels":{}}]`, status: 400, reply: `"at least one label pair required"`},
		"labels are missing": {body: `[{"labels":{"a":"1"}},{}]`, status: 422, reply: `{"code":602,"message":"1.labels in body is required"}`},
		"one of two is not valid": {
			body: `[{"labels":{}},{"labels":{"a":"1"}}]`, status: 400, reply: `"at least one label pair required"`, posted: 1,
		},
		"ends before it starts": {
			body:   `[{"labels":{"a":"1"},"startsAt":"2026-01-02T00:00:00Z","endsAt":"2026-01-01T00:00:00Z"}]`,
			status: 400, reply: `"start time must be before end time"`,
		},
		"the wrong token": {token: "no", body: `[]`, status: 401, reply: `{"code":401,"message":"channel .* does not accept .*"}`},
		"a channel that does not exist": {
			path: "//alertmanager/nowhere/api/v2/alerts", body: `[]`, status: 404, reply: `{"code":404,"message":"no channel is called .*"}`,
		},
		"PUT":            {method: http.MethodPut, status: 405, reply: `{"code":405,.*`},
		"at the root":    {path: "//api/v2/alerts", body: `[{"labels":{"a":"1"}}]`, status: 200, posted: 1},
		"Redis is away":  {body: `[{"labels":{"a":"1"}}]`, status: 503, reply: `{"code":503,.*`, fails: ratelimit.ErrUnavailable, posted: 1},
		"a bad category": {path: "/api/v2/alerts?category=A%20b", body: `[{"labels":{"a":"1"}}]`, status: 200, posted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			am := newAlertmanager(t)
			am.alerts.err = c.fails
			status, reply := am.call(cmp.Or(c.token, "tok"), cmp.Or(c.method, http.MethodPost), cmp.Or(c.path, "/api/v2/alerts"), c.body)
			require.Equal(t, c.status, status, reply)
			if strings.Contains(c.reply, ".*") {
				require.Regexp(t, "^"+c.reply+"$", reply)
			} else {
				require.Equal(t, c.reply, reply)
			}
			require.Len(t, am.alerts.posted, c.posted)
			require.Len(t, am.alerts.arrival.Events, c.posted)
		})
	}
}

func TestPostedAlertsBecomeEvents(t *testing.T) {
	t.Parallel()
	am := newAlertmanager(t)
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	status, reply := am.call("tok", http.MethodPost, "/api/v2/alerts", fmt.Sprintf(`[
		{"labels":{"alertname":"Lag","severity":"warning"}},
		{"labels":{"alertname":"Disk","instance":"db-1","severity":"critical"},"annotations":{"summary":"Disk full","description":"91 %%"},
		 "generatorURL":"http://prometheus/graph","startsAt":%[1]q},
		{"labels":{"alertname":"Disk","instance":"db-2","severity":"critical"},"annotations":{"summary":"Disk full"},
		 "startsAt":%[1]q,"endsAt":%[2]q}]`, start.Format(time.RFC3339), start.Add(time.Minute).Format(time.RFC3339)))
	require.Equal(t, http.StatusOK, status, reply)
	require.Empty(t, reply)
	all := am.alerts.arrival.Events
	require.Len(t, all, 3)
	require.Equal(t, "default", am.alerts.arrival.Sender)
	require.Equal(t, "Disk full: db-1", all[0].Title, "the summaries of the group are the same")
	require.Equal(t, "91 %", all[0].Text)
	require.Equal(t, []events.Link{{Title: "Source", URL: "http://prometheus/graph"}}, all[0].Links)
	require.Equal(t, events.Critical, all[0].Severity)
	require.Equal(t, events.Firing, all[0].Status)
	require.Equal(t, events.Resolved, all[1].Status)
	require.Equal(t, "lag", all[2].Category)
	require.Equal(t, start, all[0].StartedAt)
	require.Equal(t, start.Add(time.Minute), am.alerts.posted[1].EndsAt)
	require.True(t, am.alerts.posted[2].Assumed)
	require.WithinDuration(t, time.Now().Add(server.DefaultResolveTimeout), am.alerts.posted[2].EndsAt, time.Minute)
	require.WithinDuration(t, time.Now(), all[2].StartedAt, time.Minute)

	_, reply = am.call("tok", http.MethodPost, "/api/v2/alerts", `[{"labels":{"alertname":"x"}}]`)
	require.Empty(t, reply)
	require.Equal(t, "d240efc3896bf266", am.alerts.arrival.Events[0].Fingerprint, "as Alertmanager computes it")
}

// An end that is far away would keep the state of an alert for ever.
func TestEndOfAPostedAlertIsBounded(t *testing.T) {
	t.Parallel()
	am := newAlertmanager(t)
	status, reply := am.call("tok", http.MethodPost, "/api/v2/alerts", `[{"labels":{"alertname":"x"},"endsAt":"9999-01-01T00:00:00Z"}]`)
	require.Equal(t, http.StatusOK, status, reply)
	require.WithinDuration(t, time.Now().Add(31*24*time.Hour), am.alerts.posted[0].EndsAt, time.Minute)
}

// A source of the configuration may have the name of the relay's own.
func TestSourceThatMakesOtherEventsOfAlertsIsRefused(t *testing.T) {
	t.Parallel()
	decoder, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{{Name: "alertmanager", Title: "body.groupKey"}}})
	require.NoError(t, err)
	alerts := &alertList{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts", IngressToken: "tok"}}, Intake: &stubIntake{}, Alerts: alerts, Decoder: decoder,
		Logger: slog.New(slog.DiscardHandler),
	})
	am := alertmanager{t: t, alerts: alerts, public: s.Public()}
	status, reply := am.call("tok", http.MethodPost, "/api/v2/alerts", `[{"labels":{"a":"1"}},{"labels":{"a":"2"}}]`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, reply, "the configured source alertmanager makes 1 events of 2 alerts; let it make one of each")
	status, reply = am.call("tok", http.MethodPost, "/api/v2/alerts", `[{"labels":{"a":"1"}}]`)
	require.Equal(t, http.StatusOK, status, reply)
	require.NotEmpty(t, alerts.posted[0].Event.Fingerprint)
}

// The author of a silence is what its sender claims: the audit log names the credential.
func TestAuditLogNamesTheCredentialThatSilences(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts", Credentials: []server.Credential{
			{Name: "karma", Kind: "bearer", Secret: "ktok", Silences: true},
		}}},
		Intake: &stubIntake{}, Silences: silence.New(silence.Options{Store: silence.NewMemory(nil)}),
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	am := alertmanager{t: t, public: s.Public()}
	status, reply := am.call("ktok", http.MethodPost, "/api/v2/silences", newSilence(`{"name":"a","value":"x","isRegex":false}`))
	require.Equal(t, http.StatusOK, status, reply)
	require.Contains(t, log.String(), "credential=karma client=192.0.2.1")
	require.NotContains(t, log.String(), "ktok")
}

func TestListsOfAlerts(t *testing.T) {
	t.Parallel()
	am := newAlertmanager(t)
	am.call("tok", http.MethodPost, "/api/v2/alerts", `[
		{"labels":{"alertname":"Disk","instance":"db-1"},"annotations":{"summary":"full"},"generatorURL":"http://p/g",
		 "startsAt":"2026-01-01T00:00:00Z"},
		{"labels":{"alertname":"Disk","instance":"db-2"}},{"labels":{"job":"x"}}]`)
	status, reply := am.call("ktok", http.MethodPost, "/api/v2/silences", newSilence(`{"name":"instance","value":"db-2","isRegex":false}`))
	require.Equal(t, http.StatusOK, status, reply)
	id := reply[len(`{"silenceID":"`) : len(reply)-2]
	names := func(path string) (all []string) {
		t.Helper()
		status, reply := am.call("tok", http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, status, reply)
		var alerts []struct {
			Labels map[string]string
			Status struct{ SilencedBy []string }
		}
		require.NoError(t, json.Unmarshal([]byte(reply), &alerts))
		for _, a := range alerts {
			all = append(all, cmp.Or(a.Labels["instance"], a.Labels["job"])+strings.Join(a.Status.SilencedBy, ","))
		}
		return all
	}
	require.Equal(t, []string{"x", "db-1", "db-2" + id}, names("/api/v2/alerts"))
	require.Equal(t, []string{"x", "db-1"}, names("/api/v2/alerts?silenced=false"))
	require.Equal(t, []string{"db-2" + id}, names("/api/v2/alerts?active=false"))
	require.Equal(t, []string{"db-1"}, names(`/api/v2/alerts?filter=alertname%3DDisk&filter=instance!~%22.*-2%22`))
	require.Equal(t, []string{"x"}, names(`/api/v2/alerts?filter=alertname%3D%22%22`))
	require.Empty(t, names("/api/v2/alerts?receiver=o.*"))
	require.Len(t, names("/api/v2/alerts?receiver=a.*"), 3)
	for path, want := range map[string]string{
		"/api/v2/alerts?filter=bad":  `"bad matcher format: bad"`,
		"/api/v2/alerts?receiver=(":  "\"failed to parse receiver param: error parsing regexp: missing closing ): `^(?:()$`\"",
		"/api/v2/alerts?filter=a=~(": "\"invalid regular expression \\\"(\\\": error parsing regexp: missing closing ): `^(?:()$`\"",
	} {
		status, reply := am.call("tok", http.MethodGet, path, "")
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, want, reply)
	}
	_, reply = am.call("tok", http.MethodGet, "/api/v2/alerts?filter=instance%3Ddb-1", "")
	require.Regexp(t, `^\[{"annotations":{"summary":"full"},"endsAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","fingerprint":"[0-9a-f]{16}",`+
		`"receivers":\[{"name":"alerts"}\],"startsAt":"2026-01-01T00:00:00.000Z","status":{"inhibitedBy":\[\],"mutedBy":\[\],"silencedBy":\[\],`+
		`"state":"active"},"updatedAt":".*","generatorURL":"http://p/g","labels":{"alertname":"Disk","instance":"db-1"}}\]$`, reply)
	_, reply = am.call("tok", http.MethodGet, "/api/v2/alerts/groups", "")
	var groups []struct {
		Alerts   []any
		Labels   map[string]string
		Receiver struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(reply), &groups))
	require.Len(t, groups, 2)
	require.Empty(t, groups[0].Labels)
	require.Equal(t, map[string]string{"alertname": "Disk"}, groups[1].Labels)
	require.Len(t, groups[1].Alerts, 2)
	require.Equal(t, "alerts", groups[1].Receiver.Name)
}

// newSilence returns the body of a silence for an hour from now.
func newSilence(matchers string) string {
	now := time.Now()
	return fmt.Sprintf(`{"matchers":[%s],"startsAt":%q,"endsAt":%q,"createdBy":"ann","comment":"night"}`,
		matchers, now.Format(time.RFC3339Nano), now.Add(time.Hour).Format(time.RFC3339Nano))
}

func TestSilencesOfAlertmanager(t *testing.T) {
	t.Parallel()
	am := newAlertmanager(t)
	post := func(body string) string {
		t.Helper()
		status, reply := am.call("ktok", http.MethodPost, "/api/v2/silences", body)
		require.Equal(t, http.StatusOK, status, reply)
		require.Regexp(t, `^{"silenceID":"\w+"}$`, reply)
		return reply[len(`{"silenceID":"`) : len(reply)-2]
	}
	all := `{"name":"alertname","value":"Disk","isRegex":false},{"name":"instance","value":"db-.*","isRegex":true,"isEqual":true},` +
		`{"name":"env","value":"test","isRegex":false,"isEqual":false},{"name":"__title__","value":"x|y","isRegex":true,"isEqual":false}`
	id := post(newSilence(all))
	status, reply := am.call("tok", http.MethodGet, "/api/v2/silence/"+id, "")
	require.Equal(t, http.StatusOK, status)
	require.Regexp(t, `^{"id":"`+id+`","status":{"state":"active"},"updatedAt":"[^"]+","comment":"night","createdBy":"ann","endsAt":"[^"]+",`+
		`"matchers":\[{"isEqual":true,"isRegex":false,"name":"alertname","value":"Disk"},{"isEqual":true,"isRegex":true,"name":"instance",`+
		`"value":"db-\.\*"},{"isEqual":false,"isRegex":false,"name":"env","value":"test"},{"isEqual":false,"isRegex":true,"name":"__title__",`+
		`"value":"x\|y"}\],"startsAt":"[^"]+"}$`, reply)

	longer := strings.Replace(newSilence(all), "{", `{"id":"`+id+`",`, 1)
	require.Equal(t, id, post(longer), "the same silence")
	other := post(strings.Replace(newSilence(`{"name":"a","value":"b","isRegex":false}`), "{", `{"id":"`+id+`",`, 1))
	require.NotEqual(t, id, other, "other matchers are another silence")
	_, reply = am.call("tok", http.MethodGet, "/api/v2/silence/"+id, "")
	require.Contains(t, reply, `"state":"expired"`)

	listed := func(query string) (ids []string) {
		_, reply := am.call("tok", http.MethodGet, "/api/v2/silences"+query, "")
		var silences []struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(reply), &silences), reply)
		for _, one := range silences {
			ids = append(ids, one.ID)
		}
		return ids
	}
	require.Equal(t, []string{other, id}, listed(""), "active ones first")
	require.Equal(t, []string{id}, listed("?filter=alertname%3DDisk&filter=instance%3D~%22db-.*%22"))
	require.Empty(t, listed("?filter=alertname!%3DDisk"))

	for range 2 {
		status, reply = am.call("ktok", http.MethodDelete, "/api/v2/silence/"+other, "")
		require.Equal(t, http.StatusOK, status, reply)
		require.Empty(t, reply)
	}
	status, reply = am.call("ktok", http.MethodDelete, "/api/v2/silence/nope", "")
	require.Equal(t, http.StatusNotFound, status)
	require.JSONEq(t, `{"code":404,"message":"silence not found"}`, reply)
}

func TestInvalidSilencesAreRefusedAsByAlertmanager(t *testing.T) {
	t.Parallel()
	am := newAlertmanager(t)
	times := `"startsAt":"2026-11-20T00:00:00Z","endsAt":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"`
	for name, c := range map[string]struct {
		body   string
		status int
		reply  string
	}{
		"nothing":     {`{}`, 422, `{"code":602,"message":"comment in body is required"}`},
		"no matchers": {`{"createdBy":"a","comment":"c",` + times + `}`, 422, `{"code":602,"message":"matchers in body is required"}`},
		"everything": {
			`{"matchers":[{"name":"a","value":"","isRegex":false}],"createdBy":"a","comment":"c",` + times + `}`,
			400, `"silence invalid: at least one matcher must not match the empty string"`,
		},
		"a pattern": {
			`{"matchers":[{"name":"a","value":"(","isRegex":true}],"createdBy":"a","comment":"c",` + times + `}`,
			400, "\"silence invalid: invalid label matcher 0: invalid regular expression \\\"(\\\": " +
				"error parsing regexp: missing closing ): `^(?:()$`\"",
		},
		"the end is before the start": {
			`{"matchers":[{"name":"a","value":"x","isRegex":false}],"startsAt":"2026-12-22T00:00:00Z","endsAt":"2026-12-21T00:00:00Z",` +
				`"createdBy":"a","comment":"c"}`,
			400, `"Failed to create silence: start time must be before end time"`,
		},
		"it is over": {
			`{"matchers":[{"name":"a","value":"x","isRegex":false}],"startsAt":"2025-12-22T00:00:00Z","endsAt":"2025-12-23T00:00:00Z",` +
				`"createdBy":"a","comment":"c"}`,
			400, `"Failed to create silence: end time can't be in the past"`,
		},
		"no reason": {
			`{"matchers":[{"name":"a","value":"x","isRegex":false}],"createdBy":"a","comment":"",` + times + `}`,
			400, `"silence invalid: it needs an author and a reason; set both"`,
		},
		"a field that does not exist": {
			`{"matchers":[{"name":"__tite__","value":"x","isRegex":false}],"createdBy":"a","comment":"c",` + times + `}`,
			400, `.*field .*tite.* is unknown; use one of .*`,
		},
		"an id that does not exist": {
			`{"id":"nope","matchers":[{"name":"a","value":"x","isRegex":false}],"createdBy":"a","comment":"c",` + times + `}`,
			404, `{"code":404,"message":"silence not found"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, reply := am.call("ktok", http.MethodPost, "/api/v2/silences", c.body)
			require.Equal(t, c.status, status, reply)
			if strings.Contains(c.reply, ".*") {
				require.Regexp(t, "^"+c.reply+"$", reply)
				return
			}
			require.Equal(t, c.reply, reply)
		})
	}
}

// Who presents a credential reads; only the admin token and a credential with Silences change silences, and nobody those of another
// channel.
func TestRightsOfAlertmanagerClients(t *testing.T) {
	t.Parallel()
	am := newAlertmanager(t)
	body := newSilence(`{"name":"a","value":"x","isRegex":false}`)
	for path, want := range map[string]map[string]int{
		"/api/v2/alerts":        {"": 401, "no": 401, "tok": 200, "ktok": 200, "otok": 401, "admin": 200},
		"/api/v2/alerts/groups": {"": 401, "tok": 200},
		"/api/v2/silences":      {"": 401, "no": 401, "tok": 200, "admin": 200},
		"/api/v2/silence/x":     {"": 401, "no": 401, "tok": 404, "admin": 404},
		"/api/v2/status":        {"": 401, "tok": 200, "admin": 200},
		"/api/v2/receivers":     {"": 401, "tok": 200, "admin": 200},
		"/-/healthy":            {"": 200},
		"/-/ready":              {"": 200},
		"//-/ready":             {"": 200},

		"//api/v2/alerts":                          {"": 401, "tok": 200, "otok": 200, "admin": 401},
		"//alertmanager/open/api/v2/alerts":        {"": 401, "tok": 401, "admin": 200},
		"//alertmanager/open/api/v2/silences":      {"": 401, "admin": 200},
		"//alertmanager/nowhere/api/v2/silences":   {"admin": 404},
		"//alertmanager/other/api/v2/receivers":    {"tok": 401, "otok": 200},
		"//alertmanager/alerts/api/v2/alerts/nope": {"admin": 404},
	} {
		for token, status := range want {
			got, reply := am.call(token, http.MethodGet, path, "")
			require.Equal(t, status, got, "%s %q: %s", path, token, reply)
		}
	}
	for token, want := range map[string]int{"": 401, "tok": 403, "otok": 401, "ktok": 200, "admin": 200} {
		status, reply := am.call(token, http.MethodPost, "/api/v2/silences", body)
		require.Equal(t, want, status, "%q: %s", token, reply)
	}
	_, reply := am.call("otok", http.MethodPost, "//alertmanager/other/api/v2/silences", body)
	id := reply[len(`{"silenceID":"`) : len(reply)-2]
	for token, want := range map[string]int{"tok": 404, "ktok": 404, "admin": 404} {
		status, reply := am.call(token, http.MethodDelete, "/api/v2/silence/"+id, "")
		require.Equal(t, want, status, "%q: %s", token, reply)
	}
	status, _ := am.call("tok", http.MethodDelete, "/api/v2/silence/"+id, "")
	require.Equal(t, http.StatusNotFound, status)

	r := httptest.NewRequest(http.MethodGet, "/alertmanager/alerts/api/v2/alerts", nil)
	r.SetBasicAuth("anyone", "tok")
	status, _, _ = serve(am.public, r)
	require.Equal(t, http.StatusOK, status, "a token may be the password in a URL")
}

func TestStatusNamesChannelAndVersion(t *testing.T) {
	t.Parallel()
	_, reply := newAlertmanager(t).call("tok", http.MethodGet, "/api/v2/status", "")
	require.Regexp(t, `^{"cluster":{"peers":\[\],"status":"disabled"},"config":{"original":"global:\\n  resolve_timeout: 5m0s\\nroute:\\n  `+
		`receiver: alerts\\n  group_by:\\n  - alertname\\nreceivers:\\n- name: alerts\\n"},`+
		`"uptime":"\d{4}-.*Z","versionInfo":{.*"version":"\d+\.\d+\.\d+"}}$`,
		reply)
}

// Whatever arrives, the reply is one of Alertmanager's, and without a credential never a success.
func FuzzAlertmanager(f *testing.F) {
	for i, body := range []string{
		`[{"labels":{"alertname":"x"},"startsAt":"2026-01-01T00:00:00Z"}]`,
		`[{"labels":{"a":"1"},"endsAt":"2026-01-01T00:00:00Z"},{"labels":{}}]`,
		newSilence(`{"name":"a","value":"x","isRegex":false}`), newSilence(`{"name":"__title__","value":"x.*","isRegex":true,"isEqual":false}`),
		`alertname=~"x.*"`, `"quoted \" name"!="y"`, `{`, ``,
	} {
		f.Add(i, true, body)
		f.Add(i+3, false, body)
	}
	paths := []string{
		"POST /api/v2/alerts", "POST /api/v2/silences", "GET /api/v2/alerts", "GET /api/v2/alerts/groups", "GET /api/v2/silences",
	}
	f.Fuzz(func(t *testing.T, path int, valid bool, body string) {
		am := newAlertmanager(t)
		am.call("tok", http.MethodPost, "/api/v2/alerts", `[{"labels":{"alertname":"x"}}]`)
		method, target, _ := strings.Cut(paths[(path%len(paths)+len(paths))%len(paths)], " ")
		r := httptest.NewRequest(method, "/alertmanager/alerts"+target, strings.NewReader(body))
		if method == http.MethodGet {
			r.URL.RawQuery = "filter=" + strings.NewReplacer("%", "%25", "&", "%26", ";", "%3B", "+", "%2B", "#", "%23").Replace(body)
		}
		r.Header.Set("Content-Type", "application/json")
		if valid {
			r.Header.Set("Authorization", "Bearer ktok")
		}
		status, _, answer := serve(am.public, r)
		if !valid {
			require.Equal(t, http.StatusUnauthorized, status)
		}
		require.Contains(t, []int{200, 400, 401, 404, 413, 422}, status, "%s", answer)
		require.True(t, len(answer) == 0 || json.Valid(answer), "%s", answer)
		require.False(t, bytes.Contains(answer, []byte("ktok")) && !strings.Contains(body, "ktok"))
	})
}
