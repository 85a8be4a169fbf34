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

	"github.com/stretchr/testify/require"

	"slackrelay/interaction"
	"slackrelay/notifier/fakeslack"
	"slackrelay/ratelimit"
	"slackrelay/store"
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
	payload, _ := json.Marshal(p.fields) //nolint:errchkjson // maps of texts
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
	acknowledge := func(a []byte) { acknowledged, answer = true, a }
	err = r.Post(context.Background(), p.to, header, []byte(body), acknowledge)
	return acknowledged, answer, err
}

// unsigned makes a request that is signed with no secret of an app.
func unsigned(change func(*posted)) func(*posted) {
	return func(p *posted) {
		change(p)
		p.secret = ""
	}
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
	type fields = map[string]any
	changed := func(changes fields) func(*posted) { return func(p *posted) { p.fields = with(click, changes) } }
	typed := func(changes fields) func(*posted) {
		return func(p *posted) { p.to, p.fields = interaction.Commands, with(command, changes) }
	}
	of, _ := click["container"].(fields)
	container := func(changes fields) func(*posted) { return changed(fields{"container": with(of, changes)}) }
	action := func(action fields) func(*posted) { return changed(fields{"actions": []any{action}}) }
	header := func(name, value string) func(*posted) {
		return func(p *posted) { p.header = http.Header{name: {value}} }
	}
	body := func(text string) func(*posted) {
		return func(p *posted) { p.body = func(string) string { return text } }
	}
	organisation := fields{"team": nil, "enterprise": fields{"id": "E0002"}, "is_enterprise_install": true}
	long := strings.Repeat("x", 4001)
	soon := fmt.Sprint(time.Now().Unix() + 1)
	unauthorized, foreign, malformed := interaction.ErrUnauthorized, interaction.ErrForeign, interaction.ErrMalformed
	tests := map[string]struct {
		change func(p *posted)
		want   error
	}{
		"forged: another secret":        {func(p *posted) { p.secret = strings.Repeat("0", 32) }, unauthorized},
		"forged: no secret":             {func(p *posted) { p.secret = "" }, unauthorized},
		"forged: body changed":          {func(p *posted) { p.tamper = func(s string) string { return s + "+" } }, unauthorized},
		"forged: time changed":          {header("X-Slack-Request-Timestamp", soon), unauthorized},
		"forged: no signature":          {header("X-Slack-Signature", ""), unauthorized},
		"forged: another version":       {header("X-Slack-Signature", "v1="+strings.Repeat("0", 64)), unauthorized},
		"stale":                         {func(p *posted) { p.at = p.at.Add(-5*time.Minute - 2*time.Second) }, unauthorized},
		"from the future":               {func(p *posted) { p.at = p.at.Add(5*time.Minute + 2*time.Second) }, unauthorized},
		"another app":                   {changed(fields{"api_app_id": "A0002"}), foreign},
		"no app":                        {changed(fields{"api_app_id": nil}), foreign},
		"another workspace":             {changed(fields{"team": fields{"id": "T0002"}}), foreign},
		"another organisation":          {changed(organisation), foreign},
		"another workspace of the user": {changed(fields{"team": nil}), foreign},
		"command of another app":        {typed(fields{"api_app_id": "A0002"}), foreign},
		"command of another workspace":  {typed(fields{"team_id": "T0002"}), foreign},
		"command of no workspace":       {typed(fields{"team_id": nil}), malformed},
		"command too long":              {typed(fields{"text": long}), malformed},
		"command as a click":            {func(p *posted) { p.fields = command }, malformed},
		"click as a command":            {func(p *posted) { p.to, p.fields = interaction.Commands, fields{"payload": "{}"} }, foreign},
		"no payload":                    {body("a=b"), malformed},
		"payload is no JSON":            {body("payload=%7B"), malformed},
		"payload is an array":           {body("payload=[]"), malformed},
		"form is broken":                {body("payload=%zz"), malformed},
		"nothing":                       {body(""), malformed},
		"no actions":                    {changed(fields{"actions": []any{}}), malformed},
		"actions of attachments":        {action(fields{"name": "x"}), malformed},
		"too many actions":              {changed(fields{"actions": make([]any, 6)}), malformed},
		"value too long":                {action(fields{"block_id": "b", "action_id": "a", "value": long}), malformed},
		"action without id":             {action(fields{"block_id": "b"}), malformed},
		"no user":                       {changed(fields{"user": nil}), malformed},
		"user is no id":                 {changed(fields{"user": fields{"id": "U1\n<!here>"}}), malformed},
		"two channels":                  {container(fields{"channel_id": "C0OTHER"}), malformed},
		"no channel":                    {container(fields{"channel_id": ""}), malformed},
		"message is no timestamp":       {container(fields{"message_ts": "1; DROP"}), malformed},
		"view":                          {container(fields{"type": "view"}), nil},
		"shortcut":                      {changed(fields{"type": "shortcut"}), nil},
		"options of a menu":             {changed(fields{"type": "block_suggestion"}), nil},
		"test of the certificate":       {unsigned(body("ssl_check=1&token=x")), nil},
		"test that is none":             {unsigned(body("payload={}&ssl_check=1")), unauthorized},
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

// slowDocuments is a store that hangs.
type slowDocuments struct{ interaction.Documents }

func (slowDocuments) SaveProblems(ctx context.Context, _ store.Channel, _ []store.ProblemChange, _ store.ProblemCounts) (bool, error) {
	select {
	case <-ctx.Done():
	case <-time.After(4 * time.Second):
	}
	return false, ratelimit.ErrUnavailable
}

// Slack waits for 3 seconds, and a store that hangs does not use them up.
func TestRequestIsAcknowledgedInTimeWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := replica{Receiver: interaction.NewReceiver(interaction.Options{Documents: slowDocuments{b.store}, Owner: "one"})}
	r.Configure([]interaction.App{b.app()}, b.stub)
	click, err := b.slack.ClickPayload("U0ANNA", b.message(t), "relay_acknowledge")
	require.NoError(t, err)
	began := time.Now()
	acknowledged, _, err := posted{fields: click, at: began, secret: secret}.post(r.Receiver)
	require.NoError(t, err)
	require.True(t, acknowledged)
	require.Less(t, time.Since(began), 2500*time.Millisecond)
	require.Len(t, b.stub.all(), 1)
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
	f.Add(0, `payload={"type":"block_actions","actions":[null],"container":{"type":"message"},`+
		`"message":{"blocks":[{"type":"table","rows":[[1]]}]}}`)
	f.Add(0, `payload={"type":"block_actions","state":{"values":1},"team":null,"user":null,"channel":null}`)
	app := b.app()
	app.AppToken = ""
	f.Fuzz(func(t *testing.T, to int, body string) {
		s := &stub{}
		r := interaction.NewReceiver(interaction.Options{Documents: b.store, Owner: "one"})
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
