package server_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
)

// channelIntake is an intake that keeps the channel too.
type channelIntake struct {
	stubIntake

	channel string
}

func (c *channelIntake) Admit(ctx context.Context, a pipeline.Arrival) (pipeline.Receipt, error) {
	c.channel = a.Channel
	return c.stubIntake.Admit(ctx, a)
}

// doorServer has two channels with tokens of their own, and two that share one.
func doorServer(intake server.Intake) *server.Server {
	return server.New(server.Options{
		Channels: []server.Channel{
			{Name: "alerts", IngressToken: "tok"},
			{Name: "builds", Credentials: []server.Credential{{Name: "ci", Kind: "url", Secret: "ctok"}}},
			{Name: "one", IngressToken: "both"},
			{Name: "two", IngressToken: "both"},
		},
		Intake: intake, Logger: slog.New(slog.DiscardHandler), MaxBody: 2000,
	})
}

// doorCase is a request to a door and its reply.
type doorCase struct {
	method, path, authorization, body string
	fails                             error // of the intake
	status                            int
	reply                             string // a pattern
	title                             string // of the event; "" = there is none
	channel                           string // where the event goes; "" = alerts
}

func testDoor(t *testing.T, media string, cases map[string]doorCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intake := &channelIntake{stubIntake: stubIntake{err: c.fails, receipt: pipeline.Receipt{Received: 1, Dropped: 1}}}
			r := httptest.NewRequest(cmp.Or(c.method, http.MethodPost), c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			if c.authorization != "" {
				r.Header.Set("Authorization", c.authorization)
			}
			status, header, answer := serve(doorServer(intake).Public(), r)
			require.Equal(t, c.status, status, "%s", answer)
			require.Regexp(t, "^(?s:"+c.reply+")$", strings.TrimSuffix(string(answer), "\n"))
			require.Equal(t, map[int]string{503: "5"}[status], header.Get("Retry-After"))
			if len(answer) > 0 {
				require.Equal(t, media, header.Get("Content-Type"))
			}
			if c.title == "" {
				require.Empty(t, intake.events)
				return
			}
			require.Equal(t, c.title, intake.events[0].Title)
			require.Equal(t, cmp.Or(c.channel, "alerts"), intake.channel)
		})
	}
}

var tooLong = `{"content":"` + strings.Repeat("x", 2000) + `"}`

func TestDiscordDoorRepliesLikeDiscord(t *testing.T) {
	t.Parallel()
	hook, ok := "/api/webhooks/alerts/tok", `{"content":"Disk **full**"}`
	testDoor(t, "application/json; charset=utf-8", map[string]doorCase{
		"content":     {path: hook, body: ok, status: 204, title: "Disk full"},
		"do not wait": {path: hook + "?wait=false", body: ok, status: 204, title: "Disk full"},
		"wait": {
			path: hook + "?wait=true", body: ok,
			status: 200, reply: `.*"content":"Disk full".*"id":"\d{17,19}".*`, title: "Disk full",
		},
		"a thread":        {path: hook + "?thread_id=7", body: ok, status: 204, title: "Disk full"},
		"another channel": {path: "/api/webhooks/builds/ctok", body: ok, status: 204, title: "Disk full", channel: "builds"},
		"an embed": {
			path: hook, body: `{"embeds":[{"title":"[FIRING:1] x","color":15158332}]}`, status: 204, title: "[FIRING:1] x",
		},
		"the wrong token": {path: "/api/webhooks/alerts/no", body: ok, status: 401, reply: `{"code":50027,"message":".*"}`},
		"unknown channel": {path: "/api/webhooks/nowhere/tok", body: ok, status: 404, reply: `{"code":10015,"message":".*"}`},
		"nothing to show": {path: hook, body: `{"content":""}`, status: 400, reply: `{"code":50006,"message":".*"}`},
		"an empty body":   {path: hook, status: 400, reply: `{"code":50006,"message":".*"}`},
		"not JSON":        {path: hook, body: "{", status: 400, reply: `{"code":50109,"message":".*"}`},
		"too large":       {path: hook, body: tooLong, status: 413, reply: `{"code":40005,"message":".*"}`},
		"GET":             {method: http.MethodGet, path: hook, status: 405, reply: `{"code":0,"message":".*"}`},
		"Redis away": {
			path: hook, body: ok, fails: ratelimit.ErrUnavailable,
			status: 503, reply: `{"code":0,"message":".*"}`, title: "Disk full",
		},
		"an error": {
			path: hook, body: ok, fails: errors.New("broken"),
			status: 500, reply: `{"code":0,"message":".*"}`, title: "Disk full",
		},
	})
}

func TestDiscordDoorTakesMessagesForSlackAndWebhooksOfGitHub(t *testing.T) {
	t.Parallel()
	testDoor(t, "text/plain; charset=utf-8", map[string]doorCase{
		"Slack": {path: "/api/webhooks/alerts/tok/slack", body: `{"text":"Disk full"}`, status: 200, reply: "ok", title: "Disk full"},
		"GitHub": {
			path: "/api/webhooks/alerts/tok/github", body: `{"zen":"Keep it simple","hook_id":1}`, status: 204,
			title: "Webhook connected: a new sender",
		},
	})
}

// Tools that upload a file send the message as a field of a form.
func TestDiscordDoorReadsForms(t *testing.T) {
	t.Parallel()
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	require.NoError(t, writer.WriteField("payload_json", `{"content":"Disk full","username":"ci"}`))
	file, err := writer.CreateFormFile("files[0]", "log.txt")
	require.NoError(t, err)
	fmt.Fprint(file, "a log")
	require.NoError(t, writer.Close())
	for path, want := range map[string]int{"/api/webhooks/alerts/tok": 204, "/hooks/alerts": 202} {
		intake := &stubIntake{}
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(form.Bytes()))
		r.Header.Set("Content-Type", writer.FormDataContentType())
		r.Header.Set("Authorization", "Bearer tok")
		status, _, answer := serve(doorServer(intake).Public(), r)
		require.Equal(t, want, status, "%s", answer)
		require.Equal(t, "discord", intake.events[0].Source)
		require.Equal(t, "Disk full", intake.events[0].Title)
	}
}

func TestTeamsDoorsReplyLikeTeams(t *testing.T) {
	t.Parallel()
	hook, ok := "/webhookb2/alerts/IncomingWebhook/abc/tok", `{"@type":"MessageCard","title":"Disk full"}`
	testDoor(t, "text/plain; charset=utf-8", map[string]doorCase{
		"connector":       {path: hook, body: ok, status: 200, reply: "1", title: "Disk full"},
		"only the token":  {path: "/webhookb2/alerts/tok", body: `{"text":"Disk full"}`, status: 200, reply: "1", title: "Disk full"},
		"the wrong token": {path: "/webhookb2/alerts/IncomingWebhook/tok/no", body: ok, status: 401, reply: "channel .*"},
		"unknown channel": {path: "/webhookb2/nowhere/tok", body: ok, status: 404, reply: "no channel .*"},
		"nothing to show": {path: hook, body: `{}`, status: 400, reply: "text is empty.*"},
		"Redis away":      {path: hook, body: ok, fails: ratelimit.ErrUnavailable, status: 503, reply: ".*", title: "Disk full"},
	})
	flow := "/workflows/alerts/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig="
	card := `{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","content":{"type":"AdaptiveCard",
		"body":[{"type":"TextBlock","text":"Disk full"}]}}]}`
	testDoor(t, "application/json; charset=utf-8", map[string]doorCase{
		"workflow": {path: flow + "tok", body: card, status: 202, title: "Disk full"},
		"Power Automate": {
			path: "/powerautomate/automations/direct" + flow + "tok", body: card, status: 202, title: "Disk full",
		},
		"workflow, the wrong token": {
			path: flow + "no", body: card, status: 401, reply: `{"error":{"code":"DirectApiAuthorizationRequired","message":".*"}}`,
		},
		"workflow, not JSON": {path: flow + "tok", body: "x", status: 400, reply: `{"error":{"code":"InvalidRequestContent","message":".*"}}`},
	})
}

func TestGoogleChatDoorRepliesLikeGoogleChat(t *testing.T) {
	t.Parallel()
	hook, ok := "/v1/spaces/alerts/messages?key=AIza&token=", `{"text":"Disk *full*"}`
	testDoor(t, "application/json; charset=utf-8", map[string]doorCase{
		"text": {
			path: hook + "tok", body: ok, status: 200, title: "Disk full",
			reply: `{"createTime":"[^"]+","name":"spaces/alerts/messages/\w+","sender":{.*},"space":{.*},"text":"Disk full",` +
				`"thread":{"name":"spaces/alerts/threads/\w+"}}`,
		},
		"the wrong token": {
			path: hook + "no", body: ok, status: 401, reply: `{"error":{"code":401,"message":".*","status":"UNAUTHENTICATED"}}`,
		},
		"unknown space": {
			path: "/v1/spaces/nowhere/messages?token=tok", body: ok, status: 404,
			reply: `{"error":{"code":404,"message":".*","status":"NOT_FOUND"}}`,
		},
		"nothing to show": {
			path: hook + "tok", body: `{"text":""}`, status: 400,
			reply: `{"error":{"code":400,"message":".*","status":"INVALID_ARGUMENT"}}`,
		},
		"Redis away": {
			path: hook + "tok", body: ok, fails: ratelimit.ErrUnavailable, status: 503, title: "Disk full",
			reply: `{"error":{"code":503,"message":".*","status":"UNAVAILABLE"}}`,
		},
	})
}

func TestMattermostDoorRepliesLikeMattermost(t *testing.T) {
	t.Parallel()
	ok := `{"text":"Disk **full**"}`
	testDoor(t, "text/plain; charset=utf-8", map[string]doorCase{
		"the token alone": {path: "/mattermost/hooks/tok", body: ok, status: 200, reply: "ok", title: "Disk full"},
		"of builds":       {path: "/mattermost/hooks/ctok", body: ok, status: 200, reply: "ok", title: "Disk full", channel: "builds"},
		"with a channel":  {path: "/mattermost/hooks/two/both", body: ok, status: 200, reply: "ok", title: "Disk full", channel: "two"},
		"shared, named":   {path: "/mattermost/hooks/both?channel=one", body: ok, status: 200, reply: "ok", title: "Disk full", channel: "one"},
	})
	testDoor(t, "application/json; charset=utf-8", map[string]doorCase{
		"the wrong token": {
			path: "/mattermost/hooks/no", body: ok, status: 401,
			reply: `{"detailed_error":"","id":"web.incoming_webhook.invalid.app_error","message":".*","request_id":"\w+","status_code":401}`,
		},
		"a shared token": {path: "/mattermost/hooks/both", body: ok, status: 403, reply: `.*several channels .*[?]channel=.*`},
		"nothing to show": {
			path: "/mattermost/hooks/tok", body: `{"text":""}`, status: 400,
			reply: `.*"id":"web.incoming_webhook.text.app_error".*`,
		},
		"not JSON": {
			path: "/mattermost/hooks/tok", body: `text`, status: 400, reply: `.*"id":"web.incoming_webhook.parse.app_error".*`,
		},
	})
}

func TestOpsgenieDoorRepliesLikeOpsgenie(t *testing.T) {
	t.Parallel()
	key, ok := "GenieKey tok", `{"message":"Disk full","alias":"disk-db-1","priority":"P1"}`
	accepted := `{"requestId":"[0-9a-f-]{36}","result":"Request will be processed","took":[0-9.e-]+}`
	refused := func(message string) string {
		return `{"message":"` + message + `","requestId":"[0-9a-f-]{36}","took":0}`
	}
	testDoor(t, "application/json; charset=utf-8", map[string]doorCase{
		"create": {path: "/v2/alerts", authorization: key, body: ok, status: 202, reply: accepted, title: "Disk full"},
		"of builds": {
			path: "/v2/alerts", authorization: "GenieKey ctok", body: ok,
			status: 202, reply: accepted, title: "Disk full", channel: "builds",
		},
		"close": {
			path: "/v2/alerts/disk-db-1/close?identifierType=alias", authorization: key, body: `{"source":"Prometheus"}`,
			status: 202, reply: accepted, title: "Opsgenie alert disk-db-1",
		},
		"close without a body": {
			path: "/v2/alerts/disk%2Fdb-1/close?identifierType=alias", authorization: key, status: 202, reply: accepted,
			title: "Opsgenie alert disk/db-1",
		},
		"delete": {
			method: http.MethodDelete, path: "/v2/alerts/disk-db-1?identifierType=alias&source=x", authorization: key,
			status: 202, reply: accepted, title: "Opsgenie alert disk-db-1",
		},
		"acknowledge": {
			path: "/v2/alerts/disk-db-1/acknowledge", authorization: key, body: `{"user":"Ada"}`, status: 202, reply: accepted,
			title: "Acknowledge: Opsgenie alert disk-db-1",
		},
		"a note": {
			path: "/v2/alerts/disk-db-1/notes", authorization: key, body: `{"note":"on it"}`, status: 202, reply: accepted,
			title: "AddNote: Opsgenie alert disk-db-1",
		},
		"an update": {
			method: http.MethodPut, path: "/v2/alerts/disk-db-1/message?identifierType=alias", authorization: key,
			body: `{"message":"x"}`, status: 202, reply: accepted,
		},
		"an update without a key": {
			method: http.MethodPut, path: "/v2/alerts/disk-db-1/message", body: `{"message":"x"}`, status: 401, reply: refused(".*"),
		},
		"the wrong key":   {path: "/v2/alerts", authorization: "GenieKey no", body: ok, status: 401, reply: refused("no channel .*GenieKey")},
		"a shared key":    {path: "/v2/alerts", authorization: "GenieKey both", body: ok, status: 403, reply: refused("several channels .*")},
		"unknown channel": {path: "/v2/alerts?channel=nowhere", authorization: key, body: ok, status: 404, reply: refused(".*")},
		"another's key":   {path: "/v2/alerts?channel=builds", authorization: key, body: ok, status: 401, reply: refused(".*")},
		"no message": {
			path: "/v2/alerts", authorization: key, body: `{"alias":"x"}`, status: 422,
			reply: `{"errors":{"message":"message is empty.*"},"message":"Request body is not processable. .*","requestId":".*","took":0}`,
		},
		"not JSON": {path: "/v2/alerts", authorization: key, body: `x`, status: 400, reply: refused(".*")},
		"a smuggled body": {
			path: "/v2/alerts", authorization: key, body: `{"message":"x"},"action":"Close","y":{}`,
			status: 400, reply: refused(".*"),
		},
		"GET":    {method: http.MethodGet, path: "/v2/alerts", authorization: key, status: 405, reply: refused(".*")},
		"snooze": {path: "/v2/alerts/x/snooze", authorization: key, body: `{}`, status: 404, reply: refused("the relay does not .*")},
		"Redis away": {
			path: "/v2/alerts", authorization: key, body: ok, fails: ratelimit.ErrUnavailable, status: 503, reply: refused(".*"),
			title: "Disk full",
		},
	})
}

func TestPagerdutyDoorsReplyLikePagerduty(t *testing.T) {
	t.Parallel()
	trigger := `{"routing_key":"tok","event_action":"trigger","payload":{"summary":"Disk full","source":"db-1","severity":"critical"}`
	old := `{"service_key":"tok","event_type":"trigger","description":"Disk full"`
	invalid := func(fault string) string {
		return `{"errors":\["` + fault + `"\],"message":"Event object is invalid","status":"invalid event"}`
	}
	testDoor(t, "application/json; charset=utf-8", map[string]doorCase{
		"trigger": {
			path: "/v2/enqueue", body: trigger + `,"dedup_key":"disk"}`, status: 202, title: "Disk full",
			reply: `{"dedup_key":"disk","message":"Event processed","status":"success"}`,
		},
		"without a key": {
			path: "/v2/enqueue", body: trigger + `}`, status: 202, title: "Disk full",
			reply: `{"dedup_key":"[a-z0-9]{26}","message":"Event processed","status":"success"}`,
		},
		"resolve": {
			path: "/v2/enqueue", body: `{"routing_key":"ctok","event_action":"resolve","dedup_key":"disk"}`, status: 202,
			title: "PagerDuty event resolve", channel: "builds", reply: `{"dedup_key":"disk",.*}`,
		},
		"a change": {
			path: "/v2/change/enqueue", body: `{"routing_key":"tok","payload":{"summary":"Deployed"}}`, status: 202, title: "Deployed",
			reply: `{"message":"Change event processed","status":"success"}`,
		},
		"version 1": {
			path: "/generic/2010-04-15/create_event.json", body: old + `,"incident_key":"disk"}`, status: 200, title: "Disk full",
			reply: `{"incident_key":"disk","message":"Event processed","status":"success"}`,
		},
		"the wrong key": {
			path: "/v2/enqueue", body: strings.Replace(trigger, "tok", "no", 1) + "}", status: 400,
			reply: invalid("no channel accepts .* as routing_key"),
		},
		"no key": {path: "/v2/enqueue", body: `{"event_action":"trigger"}`, status: 400, reply: invalid("no channel .*")},
		"a shared key": {
			path: "/v2/enqueue", body: strings.Replace(trigger, "tok", "both", 1) + "}",
			status: 400, reply: invalid("several channels .*"),
		},
		"no action": {
			path: "/v2/enqueue", body: `{"routing_key":"tok","payload":{}}`,
			status: 400, reply: invalid("event_action must be .*"),
		},
		"resolve of what?": {
			path: "/v2/enqueue", body: `{"routing_key":"tok","event_action":"resolve"}`,
			status: 400, reply: invalid("dedup_key is .*"),
		},
		"not JSON":      {path: "/v2/enqueue", body: `x`, status: 400, reply: invalid(".*")},
		"an empty body": {path: "/v2/enqueue", status: 400, reply: invalid(".*")},
		"too large": {
			path: "/v2/enqueue", body: `{"routing_key":"` + strings.Repeat("x", 2000) + `"}`, status: 413, reply: invalid(".*"),
		},
		"Redis away": {
			path: "/v2/enqueue", body: trigger + "}", fails: ratelimit.ErrUnavailable, status: 503, title: "Disk full",
			reply: `{"errors":\[".*"\],"message":"Event not processed","status":"error"}`,
		},
	})
}

// A channel without a credential is used only if it is the only one, and no other channel accepts the key.
func TestKeyOfNoChannelMeansTheOpenOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		channels []server.Channel
		key      string
		status   int
		channel  string
	}{
		"one":              {[]server.Channel{{Name: "open"}}, "any", 202, "open"},
		"without a key":    {[]server.Channel{{Name: "open"}}, "", 202, "open"},
		"two":              {[]server.Channel{{Name: "open"}, {Name: "other"}}, "any", 403, ""},
		"the guarded one":  {[]server.Channel{{Name: "open"}, {Name: "alerts", IngressToken: "tok"}}, "tok", 202, "alerts"},
		"not that of them": {[]server.Channel{{Name: "open"}, {Name: "alerts", IngressToken: "tok"}}, "no", 202, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intake := &channelIntake{}
			s := server.New(server.Options{Channels: c.channels, Intake: intake, Logger: slog.New(slog.DiscardHandler)})
			r := post("/v2/alerts", `{"message":"x"}`)
			r.Header.Set("Authorization", "GenieKey "+c.key)
			status, _, answer := serve(s.Public(), r)
			require.Equal(t, c.status, status, "%s", answer)
			require.Equal(t, c.channel, intake.channel)
		})
	}
}

// From an address that no channel accepts, the reply does not reveal whether a token is valid.
func TestDoorDoesNotRevealTokensToOtherAddresses(t *testing.T) {
	t.Parallel()
	prefixes, _ := server.ParseAddresses([]string{"192.0.2.7"})
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "a", IngressToken: "tok", AllowFrom: prefixes}, {Name: "b", AllowFrom: prefixes}},
		Intake:   &stubIntake{}, Logger: slog.New(slog.DiscardHandler),
	})
	var answers []string
	for _, token := range []string{"tok", "no"} {
		r := post("/mattermost/hooks/"+token, `{"text":"x"}`)
		r.RemoteAddr = "198.51.100.1:1"
		status, _, answer := serve(s.Public(), r)
		require.Equal(t, http.StatusUnauthorized, status)
		var reply struct{ Message string }
		require.NoError(t, json.Unmarshal(answer, &reply))
		answers = append(answers, reply.Message)
	}
	require.Equal(t, answers[0], answers[1])
}

// What closes an alert by its alias has the fingerprint of what created it, and so has what resolves an incident by its key.
func TestResolveAtADoorHasTheFingerprintOfItsFiring(t *testing.T) {
	t.Parallel()
	send := func(path, body string) events.Event {
		intake := &stubIntake{}
		r := post(path, body)
		r.Header.Set("Authorization", "GenieKey tok")
		status, _, answer := serve(doorServer(intake).Public(), r)
		require.Less(t, status, 300, "%s", answer)
		return intake.events[0]
	}
	generated := func() (firing, resolve events.Event) {
		intake := &stubIntake{}
		_, _, answer := serve(doorServer(intake).Public(),
			post("/v2/enqueue", `{"routing_key":"tok","event_action":"trigger","payload":{"summary":"x"}}`))
		var reply struct {
			Key string `json:"dedup_key"`
		}
		require.NoError(t, json.Unmarshal(answer, &reply))
		return intake.events[0], send("/v2/enqueue", `{"routing_key":"tok","event_action":"resolve","dedup_key":"`+reply.Key+`"}`)
	}
	firing, resolve := generated()
	require.Equal(t, firing.Fingerprint, resolve.Fingerprint)
	for _, c := range [][4]string{
		{"/v2/alerts", `{"message":"x","alias":"disk/db 1"}`, "/v2/alerts/disk%2Fdb%201/close?identifierType=alias", `{}`},
		{
			"/v2/enqueue", `{"routing_key":"tok","event_action":"trigger","dedup_key":"d","payload":{"summary":"x"}}`,
			"/v2/enqueue", `{"routing_key":"tok","event_action":"resolve","dedup_key":"d"}`,
		},
		{
			"/generic/2010-04-15/create_event.json", `{"service_key":"tok","event_type":"trigger","incident_key":"d","description":"x"}`,
			"/v2/enqueue", `{"routing_key":"tok","event_action":"resolve","dedup_key":"d"}`,
		},
	} {
		firing, resolve := send(c[0], c[1]), send(c[2], c[3])
		require.NotEmpty(t, firing.Fingerprint)
		require.Equal(t, firing.Fingerprint, resolve.Fingerprint)
		require.Equal(t, events.Firing, firing.Status)
		require.Equal(t, events.Resolved, resolve.Status)
		require.NotEqual(t, firing.ID, resolve.ID, "a resolve is not a duplicate of its firing")
	}
}

// A message without a category has that of the URL, or else the name of the credential.
func TestCategoryOfChatMessageIsItsCredential(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api/webhooks/builds/ctok": "ci", "/webhookb2/alerts/tok": "default", "/mattermost/hooks/ctok?category=Deploys": "deploys",
		"/v1/spaces/builds/messages?token=ctok": "ci",
	} {
		intake := &stubIntake{}
		status, _, answer := serve(doorServer(intake).Public(), post(path, `{"text":"x","content":"x"}`))
		require.Less(t, status, 300, "%s", answer)
		require.Equal(t, want, intake.events[0].Category, path)
	}
}

// A credential that signs the body does not sign the path, which says what happened to an alert.
func TestSignedBodyIsRefusedByOpsgenieDoor(t *testing.T) {
	t.Parallel()
	s, intake := authServer(t, server.Credential{Name: "hmac", Kind: "hmac", Header: "X-Sig", Secret: "s3cret"})
	body := `{"message":"x"}`
	r := post("/v2/alerts/x/close?channel=c", body)
	r.Header.Set("X-Sig", hexOf(sign(sha256.New, "s3cret", body)))
	status, _, answer := serve(s.Public(), r)
	require.Equal(t, http.StatusUnauthorized, status, "%s", answer)
	require.Contains(t, string(answer), "not the path")
	require.Empty(t, intake.events)
}

// Whatever arrives, a door replies with one of the statuses of its product, and to those without the token with none of success.
func FuzzDoors(f *testing.F) {
	paths := []string{
		"/api/webhooks/alerts/%s?wait=1", "/api/webhooks/alerts/%s/slack", "/api/webhooks/alerts/%s/github", "/webhookb2/alerts/%s",
		"/workflows/alerts/triggers/manual/paths/invoke?sig=%s", "/v1/spaces/alerts/messages?token=%s", "/mattermost/hooks/%s",
		"/v2/alerts", "/v2/alerts/x/close", "/v2/enqueue", "/v2/change/enqueue", "/generic/2010-04-15/create_event.json",
	}
	for i, body := range []string{
		`{"content":"x","embeds":[{"title":"y","color":1,"fields":[{"name":"a","value":"[b](https://c)"}]}]}`, `{"text":"x"}`,
		`{"zen":"x","hook_id":1}`, `{"@type":"MessageCard","sections":[{"facts":[{"name":"a","value":"<b>c</b>"}]}]}`,
		`{"type":"AdaptiveCard","body":[{"type":"ColumnSet","columns":[{"items":[{"type":"TextBlock","text":"x"}]}]}]}`,
		`{"cardsV2":[{"card":{"sections":[{"widgets":[{"textParagraph":{"text":"x"}}]}]}}]}`, `{"text":"**x**","priority":{"priority":"urgent"}}`,
		`{"message":"x","alias":"y"}`, `{"note":"x"}`, `{"routing_key":"tok","event_action":"trigger","payload":{"summary":"x"}}`,
		`{"routing_key":"tok","payload":{"summary":"x"}}`, `{"service_key":"tok","event_type":"resolve","incident_key":"x"}`,
	} {
		f.Add(i, "application/json", true, []byte(body))
		f.Add(i, "multipart/form-data; boundary=x", false,
			[]byte("--x\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n"+body+"\r\n--x--"))
	}
	intake := &stubIntake{}
	public := doorServer(intake).Public()
	f.Fuzz(func(t *testing.T, path int, media string, valid bool, body []byte) {
		token := map[bool]string{true: "tok", false: "no"}[valid]
		if !valid && bytes.Contains(body, []byte("tok")) || bytes.Contains(body, []byte(`\u`)) {
			return
		}
		pattern := paths[(path%len(paths)+len(paths))%len(paths)]
		r := httptest.NewRequest(http.MethodPost, strings.Replace(pattern, "%s", token, 1), bytes.NewReader(body))
		r.Header.Set("Content-Type", media)
		r.Header.Set("Authorization", "GenieKey "+token)
		intake.events = nil
		status, _, answer := serve(public, r)
		require.Contains(t, []int{200, 202, 204, 400, 401, 403, 404, 413, 422}, status, "%s", answer)
		if strings.Contains(pattern, "/v2/") || strings.Contains(pattern, "/v1/") || strings.Contains(pattern, "/generic/") {
			require.True(t, json.Valid(answer), "%s", answer)
		}
		require.Equal(t, status < 300, len(intake.events) > 0)
		require.False(t, !valid && status < 300)
	})
}
