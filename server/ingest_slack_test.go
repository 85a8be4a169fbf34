package server_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
)

func slackServer(intake *stubIntake, receipt pipeline.Receipt) *server.Server {
	intake.receipt = receipt
	return server.New(server.Options{
		Channels: []server.Channel{
			{
				Name: "alerts", SlackName: "C0123", IngressToken: "tok",
				Credentials: []server.Credential{{Name: "jenkins", Kind: "url", Secret: "jtok"}},
			},
			{Name: "open"},
		},
		Intake: intake, Logger: slog.New(slog.DiscardHandler), MaxBody: 1000,
	})
}

// The replies are exactly those of Slack's incoming webhooks, because senders compare them.
func TestSlackWebhookRepliesLikeSlack(t *testing.T) {
	t.Parallel()
	form := "application/x-www-form-urlencoded"
	payload := url.Values{"payload": {`{"text":"Disk full"}`}}.Encode()
	for name, c := range map[string]struct {
		path, media, body string
		fails             error
		status            int
		reply             string
		title             string
	}{
		"JSON":               {"/services/alerts/tok", "application/json", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"no type":            {"/services/alerts/tok", "", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"a strange type":     {"/services/alerts/tok", "application/octet-stream", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"a form":             {"/services/alerts/tok", form, payload, nil, 200, "ok", "Disk full"},
		"JSON called a form": {"/services/alerts/tok", form, `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"attachments only": {
			"/services/alerts/tok", "application/json",
			`{"attachments":[{"title":"Disk full","color":"danger"}]}`, nil, 200, "ok", "Disk full",
		},
		"nulls": {
			"/services/alerts/tok", "application/json",
			`{"text":null,"attachments":[{"title":"Disk full","fields":null}],"link_names":0}`, nil, 200, "ok", "Disk full",
		},
		"a token in the query":      {"/services/alerts/?token=jtok", "application/json", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"three parts, as Slack has": {"/services/alerts/B01/tok", "application/json", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"no token at all":           {"/services/alerts/", "application/json", `{"text":"x"}`, nil, 403, "invalid_token", ""},
		"a named credential":        {"/services/alerts/jtok", "application/json", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"an open channel":           {"/services/open/anything", "application/json", `{"text":"Disk full"}`, nil, 200, "ok", "Disk full"},
		"the wrong token":           {"/services/alerts/no", "application/json", `{"text":"x"}`, nil, 403, "invalid_token", ""},
		"unknown channel":           {"/services/nowhere/tok", "application/json", `{"text":"x"}`, nil, 404, "channel_not_found", ""},
		"empty text":                {"/services/alerts/tok", "application/json", `{"text":""}`, nil, 400, "no_text", ""},
		"empty body":                {"/services/alerts/tok", "application/json", ``, nil, 400, "no_text", ""},
		"not JSON":                  {"/services/alerts/tok", "application/json", `nonsense`, nil, 400, "invalid_payload", ""},
		"a list":                    {"/services/alerts/tok", "application/json", `[{"text":"x"}]`, nil, 400, "invalid_payload", ""},
		"too large": {
			"/services/alerts/tok", "application/json", `{"text":"` + string(make([]byte, 1000)) + `"}`, nil,
			413, "invalid_payload", "",
		},
		"Redis away": {
			"/services/alerts/tok", "application/json", `{"text":"x"}`, ratelimit.ErrUnavailable, 503,
			"service_unavailable", "x",
		},
		"an internal error": {"/services/alerts/tok", "application/json", `{"text":"x"}`, errors.New("broken"), 500, "rollup_error", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			intake := &stubIntake{err: c.fails}
			r := post(c.path, c.body)
			r.Header.Set("Content-Type", c.media)
			status, header, answer := serve(slackServer(intake, pipeline.Receipt{Received: 1, Dropped: 1}).Public(), r)
			require.Equal(t, c.status, status, "%s: %s", name, answer)
			require.Equal(t, c.reply, string(answer), "%s: no newline, no JSON", name)
			require.Equal(t, "text/plain; charset=utf-8", header.Get("Content-Type"))
			require.Equal(t, map[int]string{503: "5"}[c.status], header.Get("Retry-After"))
			if c.title != "" {
				require.Equal(t, c.title, intake.events[0].Title, name)
				require.Equal(t, "slack", intake.events[0].Source)
			}
		})
	}
}

func TestSlackWebhookRefusesGET(t *testing.T) {
	t.Parallel()
	r := post("/services/alerts/tok", "")
	r.Method = http.MethodGet
	status, _, answer := serve(slackServer(&stubIntake{}, pipeline.Receipt{}).Public(), r)
	require.Equal(t, http.StatusMethodNotAllowed, status)
	require.Equal(t, "invalid_payload", string(answer))
}

// The category is that of the URL, or else the name of the credential.
func TestCategoryOfSlackMessageIsItsCredential(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/services/alerts/tok": "default", "/services/alerts/jtok": "jenkins", "/services/alerts/tok?category=Deploys": "deploys",
	} {
		t.Run(path, func(t *testing.T) {
			intake := &stubIntake{}
			status, _, answer := serve(slackServer(intake, pipeline.Receipt{}).Public(), post(path, `{"text":"x"}`))
			require.Equal(t, http.StatusOK, status, "%s", answer)
			require.Equal(t, want, intake.events[0].Category, path)
		})
	}
}

// The Web API replies with 200, and "ok" tells whether the call succeeded.
func TestSlackAPIRepliesLikeSlack(t *testing.T) {
	t.Parallel()
	form := "application/x-www-form-urlencoded"
	ts := `"ts":"\d{10,}\.\d{6}"`
	for name, c := range map[string]struct {
		path, token, media, body string
		receipt                  pipeline.Receipt
		reply                    string // a pattern
	}{
		"JSON": {
			"/api/chat.postMessage", "Bearer tok", "application/json", `{"channel":"alerts","text":"x"}`,
			pipeline.Receipt{Admitted: 1},
			`"channel":"alerts".*"message":\{.*"ok":true,` + ts,
		},
		"by Slack's id": {
			"/api/chat.postMessage", "Bearer tok", "application/json", `{"channel":"C0123","text":"x"}`,
			pipeline.Receipt{Admitted: 1},
			`"channel":"C0123".*"ok":true`,
		},
		"by a #name": {
			"/api/chat.postMessage", "Bearer tok", "application/json", `{"channel":"#alerts","text":"x"}`,
			pipeline.Receipt{Admitted: 1},
			`"ok":true`,
		},
		"dropped": {
			"/api/chat.postMessage", "Bearer tok", "application/json", `{"channel":"alerts","text":"x"}`,
			pipeline.Receipt{Dropped: 1},
			`"ok":true`,
		},
		"a form": {
			"/api/chat.postMessage", "", form, url.Values{"token": {"tok"}, "channel": {"alerts"}, "text": {"x"}}.Encode(),
			pipeline.Receipt{},
			`"ok":true`,
		},
		"blocks in a form": {"/api/chat.postMessage", "", form, url.Values{
			"token": {"tok"}, "channel": {"alerts"}, "blocks": {`[{"type":"header","text":{"type":"plain_text","text":"Disk full"}}]`},
			"unfurl_links": {"true"},
		}.Encode(), pipeline.Receipt{}, `"ok":true`},
		"a token in JSON": {
			"/api/chat.postMessage", "", "application/json", `{"token":"tok","channel":"alerts","text":"x"}`,
			pipeline.Receipt{},
			`"ok":true`,
		},
		"no token": {
			"/api/chat.postMessage", "", "application/json", `{"channel":"alerts","text":"x"}`,
			pipeline.Receipt{},
			`"error":"not_authed","ok":false`,
		},
		"the wrong one": {
			"/api/chat.postMessage", "Bearer no", "application/json", `{"channel":"alerts","text":"x"}`,
			pipeline.Receipt{},
			`"error":"invalid_auth"`,
		},
		"unknown channel": {
			"/api/chat.postMessage", "Bearer tok", "application/json", `{"channel":"nowhere","text":"x"}`,
			pipeline.Receipt{},
			`"error":"channel_not_found"`,
		},
		"no text": {
			"/api/chat.postMessage", "Bearer tok", "application/json", `{"channel":"alerts"}`,
			pipeline.Receipt{},
			`"error":"no_text"`,
		},
		"not JSON": {"/api/chat.postMessage", "Bearer tok", "application/json", `nonsense`, pipeline.Receipt{}, `"error":"invalid_json"`},
		"an update": {
			"/api/chat.update", "Bearer tok", "application/json",
			`{"channel":"alerts","ts":"1700000000.000100","text":"y"}`,
			pipeline.Receipt{Merged: 1},
			`"ok":true,"text":"y","ts":"1700000000.000100"`,
		},
		"of nothing": {
			"/api/chat.update", "Bearer tok", "application/json",
			`{"channel":"alerts","ts":"1700000000.000100","text":"y"}`,
			pipeline.Receipt{Dropped: 1},
			`"error":"message_not_found"`,
		},
		"without a ts": {
			"/api/chat.update", "Bearer tok", "application/json", `{"channel":"alerts","text":"y"}`,
			pipeline.Receipt{},
			`"error":"message_not_found"`,
		},
		"auth.test": {"/api/auth.test", "Bearer tok", "application/json", ``, pipeline.Receipt{}, `"ok":true.*"user":"default"`},
		"api.test":  {"/api/api.test", "", "application/json", ``, pipeline.Receipt{}, `"ok":true`},
		"another method": {
			"/api/files.getUploadURLExternal", "Bearer tok", "application/json", `{}`,
			pipeline.Receipt{},
			`"error":"unknown_method","ok":false`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := post(c.path, c.body)
			r.Header.Set("Content-Type", c.media)
			if c.token != "" {
				r.Header.Set("Authorization", c.token)
			}
			status, header, answer := serve(slackServer(&stubIntake{}, c.receipt).Public(), r)
			require.Equal(t, http.StatusOK, status, name)
			require.Equal(t, "application/json; charset=utf-8", header.Get("Content-Type"))
			require.Regexp(t, c.reply, string(answer), name)
		})
	}
}

func TestSlackAuthTestRefusesAWrongToken(t *testing.T) {
	t.Parallel()
	r := post("/api/auth.test", "")
	r.Header.Set("Authorization", "Bearer no")
	intake := &stubIntake{}
	guarded := server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts", IngressToken: "tok"}}, Intake: intake,
		Logger: slog.New(slog.DiscardHandler),
	})
	_, _, answer := serve(guarded.Public(), r)
	require.Contains(t, string(answer), `"error":"invalid_auth"`)
}

// A sender is recognized by any kind of credential, wherever its channel stands in the configuration.
func TestSlackAuthTestTakesEveryKindOfCredential(t *testing.T) {
	t.Parallel()
	guarded := server.New(server.Options{
		Channels: []server.Channel{
			{Name: "alerts", IngressToken: "tok"},
			{Name: "builds", Credentials: []server.Credential{{Name: "ci", Kind: "bearer", Secret: "ctok"}}},
			{Name: "jobs", Credentials: []server.Credential{{Name: "cron", Kind: "url", Secret: "utok"}}},
			{Name: "lamps", Credentials: []server.Credential{{Name: "lamp", Kind: "header", Header: "X-Key", Secret: "htok"}}},
			{Name: "gates", Credentials: []server.Credential{{Name: "gate", Kind: "basic", Username: "me", Secret: "ptok"}}},
		},
		Intake: &stubIntake{}, Logger: slog.New(slog.DiscardHandler),
	})
	for name, c := range map[string]struct{ query, header, value, user string }{
		"the channel's token":           {"", "Authorization", "Bearer tok", "default"},
		"bearer":                        {"", "Authorization", "Bearer ctok", "ci"},
		"url":                           {"?token=utok", "X-Nothing", "", "cron"},
		"url beside a header":           {"?token=utok", "Authorization", "Bearer no", "cron"},
		"header":                        {"", "X-Key", "htok", "lamp"},
		"header beside the wrong token": {"?token=no", "X-Key", "htok", "lamp"},
		"basic":                         {"", "Authorization", "Basic bWU6cHRvaw==", "gate"},
		"none":                          {"", "X-Nothing", "", ""},
		"the wrong token":               {"?token=no", "Authorization", "Bearer no", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := post("/api/auth.test"+c.query, "")
			r.Header.Set(c.header, c.value)
			_, _, answer := serve(guarded.Public(), r)
			if c.user == "" {
				require.Contains(t, string(answer), `"ok":false`)
			} else {
				require.Contains(t, string(answer), `"user":"`+c.user+`"`)
			}
		})
	}
}

func TestSlackAPIRepliesWith503WithoutRedis(t *testing.T) {
	t.Parallel()
	away := slackServer(&stubIntake{err: ratelimit.ErrUnavailable}, pipeline.Receipt{})
	r := post("/api/chat.postMessage", `{"channel":"alerts","text":"x"}`)
	r.Header.Set("Authorization", "Bearer tok")
	status, header, answer := serve(away.Public(), r)
	require.Equal(t, http.StatusServiceUnavailable, status, "senders retry")
	require.NotEmpty(t, header.Get("Retry-After"))
	require.Contains(t, string(answer), `"ok":false`)
}

// Each message gets a timestamp of its own, as in Slack.
func TestSlackTimestampsAreUnique(t *testing.T) {
	t.Parallel()
	intake := &stubIntake{}
	s := slackServer(intake, pipeline.Receipt{Admitted: 1})
	seen := map[string]bool{}
	for range 1000 {
		r := post("/api/chat.postMessage", `{"channel":"alerts","text":"x","thread_ts":"1700000000.000100"}`)
		r.Header.Set("Authorization", "Bearer tok")
		_, _, answer := serve(s.Public(), r)
		ts := regexp.MustCompile(`"ts":"(\d+\.\d{6})"`).FindSubmatch(answer)
		require.NotNil(t, ts, "%s", answer)
		require.False(t, seen[string(ts[1])])
		seen[string(ts[1])] = true
		require.Equal(t, &events.SlackMessage{TS: string(ts[1]), Thread: "1700000000.000100"}, withoutBody(intake.events[0].Slack))
	}
}

// withoutBody returns the references of a message, without its contents.
func withoutBody(m *events.SlackMessage) *events.SlackMessage {
	return &events.SlackMessage{TS: m.TS, Thread: m.Thread, Update: m.Update}
}
