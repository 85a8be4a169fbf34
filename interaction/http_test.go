package interaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/interaction"
	"slackrelay/notifier/fakeslack"
)

// posted is a request as Slack would send it, which a case may change.
type posted struct {
	to     interaction.Endpoint
	fields map[string]any // of the payload, or of the command
	at     time.Time
	secret string
	header http.Header              // added after it was signed
	body   func(form string) string // changes the form before it is signed; nil = nothing
	tamper func(body string) string // changes it afterwards
}

// form encodes the fields as Slack does.
func (p posted) form() string {
	form := url.Values{}
	if p.to == interaction.Commands {
		for name, value := range p.fields {
			form.Set(name, fmt.Sprint(value))
		}
		return form.Encode()
	}
	payload, _ := json.Marshal(p.fields)
	form.Set("payload", string(payload))
	return form.Encode()
}

// post has a receiver take in a request, and returns whether it was acknowledged, with what, and the error.
func (p posted) post(r *interaction.Receiver) (acknowledged bool, answer []byte, err error) {
	body := p.form()
	if p.body != nil {
		body = p.body(body)
	}
	header := fakeslack.Signature(p.secret, p.at, []byte(body))
	maps.Copy(header, p.header)
	if p.tamper != nil {
		body = p.tamper(body)
	}
	err = r.Post(context.Background(), p.to, header, []byte(body), func(a []byte) { acknowledged, answer = true, a }) //nolint:usetesting // of a fuzz target too
	return acknowledged, answer, err
}

// with returns the fields with some replaced; nil removes one.
func with(fields map[string]any, changes map[string]any) map[string]any {
	changed := maps.Clone(fields)
	maps.Copy(changed, changes)
	maps.DeleteFunc(changed, func(_ string, value any) bool { return value == nil })
	return changed
}

func TestRequestsThatAreNotOfTheAppAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	ts := b.message(t)
	click, err := b.slack.ClickPayload("U0ANNA", ts, "relay_acknowledge")
	require.NoError(t, err)
	command := b.slack.CommandPayload("U0ANNA", "C0ALERTS", "status")
	on := func(to interaction.Endpoint, fields map[string]any) func(*posted) {
		return func(p *posted) { p.to, p.fields = to, fields }
	}
	container := func(changes map[string]any) func(*posted) {
		of, _ := click["container"].(map[string]any)
		return on(interaction.Interactions, with(click, map[string]any{"container": with(of, changes)}))
	}
	tests := map[string]struct {
		change func(p *posted)
		want   error
	}{
		"forged: another secret": {func(p *posted) { p.secret = strings.Repeat("0", 32) }, interaction.ErrUnauthorized},
		"forged: no secret":      {func(p *posted) { p.secret = "" }, interaction.ErrUnauthorized},
		"forged: body changed":   {func(p *posted) { p.tamper = func(s string) string { return s + "+" } }, interaction.ErrUnauthorized},
		"forged: time changed": {func(p *posted) {
			p.header = http.Header{"X-Slack-Request-Timestamp": {fmt.Sprint(time.Now().Unix() + 1)}}
		}, interaction.ErrUnauthorized},
		"forged: no signature":          {func(p *posted) { p.header = http.Header{"X-Slack-Signature": nil} }, interaction.ErrUnauthorized},
		"forged: another version":       {func(p *posted) { p.header = http.Header{"X-Slack-Signature": {"v1=" + strings.Repeat("0", 64)}} }, interaction.ErrUnauthorized},
		"stale":                         {func(p *posted) { p.at = p.at.Add(-5*time.Minute - 2*time.Second) }, interaction.ErrUnauthorized},
		"from the future":               {func(p *posted) { p.at = p.at.Add(5*time.Minute + 2*time.Second) }, interaction.ErrUnauthorized},
		"another app":                   {on(interaction.Interactions, with(click, map[string]any{"api_app_id": "A0002"})), interaction.ErrForeign},
		"no app":                        {on(interaction.Interactions, with(click, map[string]any{"api_app_id": nil})), interaction.ErrForeign},
		"another workspace":             {on(interaction.Interactions, with(click, map[string]any{"team": map[string]string{"id": "T0002"}})), interaction.ErrForeign},
		"another organisation":          {on(interaction.Interactions, with(click, map[string]any{"team": nil, "enterprise": map[string]string{"id": "E0002"}, "is_enterprise_install": true})), interaction.ErrForeign},
		"another workspace of the user": {on(interaction.Interactions, with(click, map[string]any{"team": nil})), interaction.ErrForeign},
		"command of another app":        {on(interaction.Commands, with(command, map[string]any{"api_app_id": "A0002"})), interaction.ErrForeign},
		"command of another workspace":  {on(interaction.Commands, with(command, map[string]any{"team_id": "T0002"})), interaction.ErrForeign},
		"command of no workspace":       {on(interaction.Commands, with(command, map[string]any{"team_id": nil})), interaction.ErrMalformed},
		"command too long":              {on(interaction.Commands, with(command, map[string]any{"text": strings.Repeat("x", 4001)})), interaction.ErrMalformed},
		"command as a click":            {func(p *posted) { p.fields = command }, interaction.ErrMalformed},
		"click as a command":            {func(p *posted) { p.to = interaction.Commands; p.fields = map[string]any{"payload": "{}"} }, interaction.ErrForeign},
		"no payload":                    {func(p *posted) { p.body = func(string) string { return "a=b" } }, interaction.ErrMalformed},
		"payload is no JSON":            {func(p *posted) { p.body = func(string) string { return "payload=%7B" } }, interaction.ErrMalformed},
		"payload is an array":           {func(p *posted) { p.body = func(string) string { return "payload=[]" } }, interaction.ErrMalformed},
		"form is broken":                {func(p *posted) { p.body = func(string) string { return "payload=%zz" } }, interaction.ErrMalformed},
		"nothing":                       {func(p *posted) { p.body = func(string) string { return "" } }, interaction.ErrMalformed},
		"no actions":                    {on(interaction.Interactions, with(click, map[string]any{"actions": []any{}})), interaction.ErrMalformed},
		"actions of attachments":        {on(interaction.Interactions, with(click, map[string]any{"actions": []any{map[string]string{"name": "x"}}})), interaction.ErrMalformed},
		"too many actions":              {on(interaction.Interactions, with(click, map[string]any{"actions": make([]any, 6)})), interaction.ErrMalformed},
		"value too long":                {on(interaction.Interactions, with(click, map[string]any{"actions": []any{map[string]string{"block_id": "b", "action_id": "a", "value": strings.Repeat("x", 2001)}}})), interaction.ErrMalformed},
		"action without id":             {on(interaction.Interactions, with(click, map[string]any{"actions": []any{map[string]string{"block_id": "b"}}})), interaction.ErrMalformed},
		"no user":                       {on(interaction.Interactions, with(click, map[string]any{"user": nil})), interaction.ErrMalformed},
		"user is no id":                 {on(interaction.Interactions, with(click, map[string]any{"user": map[string]string{"id": "U1\n<!here>"}})), interaction.ErrMalformed},
		"two channels":                  {container(map[string]any{"channel_id": "C0OTHER"}), interaction.ErrMalformed},
		"no channel":                    {container(map[string]any{"channel_id": ""}), interaction.ErrMalformed},
		"message is no timestamp":       {container(map[string]any{"message_ts": "1; DROP"}), interaction.ErrMalformed},
		"view":                          {container(map[string]any{"type": "view"}), nil},
		"shortcut":                      {on(interaction.Interactions, with(click, map[string]any{"type": "shortcut"})), nil},
		"options of a menu":             {on(interaction.Interactions, with(click, map[string]any{"type": "block_suggestion"})), nil},
		"test of the certificate":       {func(p *posted) { p.secret = ""; p.body = func(string) string { return "ssl_check=1&token=x" } }, nil},
		"test that is none":             {func(p *posted) { p.secret = ""; p.body = func(s string) string { return s + "&ssl_check=1" } }, interaction.ErrUnauthorized},
	}
	for name, test := range tests {
		p := posted{fields: click, at: time.Now(), secret: secret}
		test.change(&p)
		acknowledged, answer, err := p.post(r.Receiver)
		require.ErrorIs(t, err, test.want, name)
		require.Equal(t, test.want == nil, acknowledged, name)
		require.Empty(t, answer, name)
		require.Empty(t, b.stub.all(), name)
		require.Empty(t, b.stub.commands, name)
	}
	require.NotContains(t, b.log.text(), secret)
	require.NotContains(t, b.log.text(), "DROP")
}

// A request that is sent again, to whichever replica, has no effect: the signature proves who sent it first, not how often.
func TestRepeatedRequestHasNoEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.receiver("one"), b.receiver("two")
	for _, r := range []replica{one, two} {
		r.Configure([]interaction.App{b.app()}, b.stub)
	}
	b.stub.answer = interaction.Answer{Text: "done"}
	click, err := b.slack.ClickPayload("U0ANNA", b.message(t), "relay_acknowledge")
	require.NoError(t, err)
	p := posted{fields: click, at: time.Now(), secret: secret}
	for i, r := range []replica{one, one, two} {
		if i == 2 { // the same signature, written otherwise
			p.header = fakeslack.Signature(secret, p.at, []byte(p.form()))
			p.header.Set("X-Slack-Signature", "v0="+strings.ToUpper(p.header.Get("X-Slack-Signature")[3:]))
		}
		acknowledged, _, err := p.post(r.Receiver)
		require.NoError(t, err)
		require.True(t, acknowledged)
	}
	require.Len(t, b.stub.all(), 1)
	require.Len(t, b.slack.Answers("U0ANNA"), 1)
	require.Equal(t, map[string]float64{"click repeated": 1}, two.counts(t))
}

func TestEachAppHasItsOwnSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver("one")
	other := b.app()
	other.Name, other.AppToken, other.SigningSecret = "slack_token of channel b", "", strings.Repeat("a", 32)
	r.Configure([]interaction.App{b.app(), other}, b.stub)
	click, err := b.slack.ClickPayload("U0ANNA", b.message(t), "relay_acknowledge")
	require.NoError(t, err)
	for _, s := range []string{secret, other.SigningSecret} {
		click["trigger_id"] = s
		_, _, err = posted{fields: click, at: time.Now(), secret: s}.post(r.Receiver)
		require.NoError(t, err)
	}
	require.Len(t, b.stub.all(), 2)
	r.Configure([]interaction.App{other}, b.stub) // a reload
	_, _, err = posted{fields: click, at: time.Now(), secret: secret}.post(r.Receiver)
	require.ErrorIs(t, err, interaction.ErrUnauthorized)
	r.Configure([]interaction.App{b.app()}, nil)
	require.False(t, r.TakesRequests(), "nobody acts")
}

// An app that an organisation installed for all of its workspaces gets clicks without a workspace.
func TestOrganisationWideInstallation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	b.slack.Script("", fakeslack.Reply{}) // of no method
	b.slack.Script("auth.test ", fakeslack.Reply{Body: `{"ok":true,"team_id":"E0001","enterprise_id":"E0001","user_id":"U0001"}`})
	click, err := b.slack.ClickPayload("U0ANNA", b.message(t), "relay_acknowledge")
	require.NoError(t, err)
	click["team"], click["enterprise"], click["is_enterprise_install"] = nil, map[string]string{"id": "E0001"}, true
	_, _, err = posted{fields: click, at: time.Now(), secret: secret}.post(r.Receiver)
	require.NoError(t, err)
	require.Equal(t, "T0001", b.stub.all()[0].Workspace, "that of the user")
	click["is_enterprise_install"] = false
	_, _, err = posted{fields: click, at: time.Now(), secret: secret}.post(r.Receiver)
	require.ErrorIs(t, err, interaction.ErrForeign, "another installation in the same organisation")
}

// While Slack does not say of which workspace the token is, nothing is trusted.
func TestUnknownWorkspaceIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	b.slack.Script("auth.test ", fakeslack.APIError("token_revoked"))
	click, err := b.slack.ClickPayload("U0ANNA", b.message(t), "relay_acknowledge")
	require.NoError(t, err)
	_, _, err = posted{fields: click, at: time.Now(), secret: secret}.post(r.Receiver)
	require.ErrorIs(t, err, interaction.ErrUnavailable)
	require.Empty(t, b.stub.all())
}

// Whatever a signed request contains, nothing panics, and the Handler gets only what a workspace of the app may send.
func FuzzInteraction(f *testing.F) {
	b := setup(f)
	ts := b.message(f)
	click, err := b.slack.ClickPayload("U0ANNA", ts, "relay_acknowledge")
	require.NoError(f, err)
	for _, to := range []interaction.Endpoint{interaction.Interactions, interaction.Commands} {
		f.Add(int(to), posted{to: to, fields: click}.form())
		f.Add(int(to), posted{to: to, fields: b.slack.CommandPayload("U0ANNA", "C0ALERTS", "status")}.form())
	}
	f.Add(0, `payload={"type":"block_actions","actions":[null],"container":{"type":"message"},"message":{"blocks":[{"type":"table","rows":[[1]]}]}}`)
	f.Add(0, `payload={"type":"block_actions","state":{"values":1},"team":null,"user":null,"channel":null}`)
	app := b.app()
	app.AppToken = ""
	f.Fuzz(func(t *testing.T, to int, body string) {
		s := &stub{}
		r := interaction.NewReceiver(interaction.Options{Documents: b.store, Owner: "one", Metrics: interaction.NewMetrics(prometheus.NewRegistry())})
		r.Configure([]interaction.App{app}, s)
		endpoint := interaction.Endpoint(to & 1)
		p := posted{to: endpoint, at: time.Now(), secret: secret, body: func(string) string { return body }}
		acknowledged, answer, err := p.post(r)
		require.Equal(t, err == nil, acknowledged)
		require.Empty(t, answer)
		for _, c := range s.clicks {
			require.Equal(t, "T0001", c.Workspace)
			require.Regexp(t, `^[A-Z0-9]{1,32}$`, c.Channel)
			require.NotEmpty(t, c.Action)
		}
		for _, c := range s.commands {
			require.Equal(t, "T0001", c.Workspace)
			require.NotContains(t, c.Text, "\n")
		}
	})
}
