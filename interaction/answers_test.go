package interaction_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/interaction"
)

// A Handler that takes longer than Slack waits: the click is acknowledged in time, and the user is told, and told again.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.answer = interaction.Answer{Text: "done"}
	b.stub.act = func(ctx context.Context) {
		select {
		case <-time.After(2700 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	r := b.start(t, "one", b.app())
	b.sockets(t, 1)
	ts := b.message(t)
	command := make(chan error, 1)
	go func() { command <- b.slack.Command("U0BEN", "C0ALERTS", "status") }()
	require.NoError(t, b.slack.Click("U0ANNA", ts, "relay_acknowledge"))
	require.NoError(t, <-command)
	r.stop() // waits for what is in flight
	for _, user := range []string{"U0ANNA", "U0BEN"} {
		answers := b.slack.Answers(user)
		require.Len(t, answers, 2, user)
		require.Equal(t, "It takes longer than usual. Look at the message in a moment.", answers[0].Text)
		require.Equal(t, "done", answers[1].Text)
	}
	require.Len(t, b.stub.all(), 1, "delivered once")
	require.Equal(t, map[string]float64{"click late": 1, "command late": 1}, r.counts(t))
}

func TestPanicOfTheHandlerIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.act = func(context.Context) { panic("oops") }
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	p := posted{to: interaction.Commands, fields: b.slack.CommandPayload("U0ANNA", "C0ALERTS", "x"), at: time.Now(), secret: secret}
	_, answer, err := p.post(r.Receiver)
	require.NoError(t, err)
	require.Contains(t, string(answer), "The relay failed; the cause is in its log.")
	require.Contains(t, b.log.text(), "panic=oops")
}

// Slack drops an acknowledgement of 20 KB or more, so that the user would see nothing.
func TestLongAnswersToCommandsAreCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	section := slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, strings.Repeat("<é>", 900), false, false), nil, nil)
	for name, answer := range map[string]interaction.Answer{
		"short":  {Text: "fine"},
		"none":   {},
		"text":   {Text: strings.Repeat("<é>", 20_000)},
		"blocks": {Text: strings.Repeat("y", 30_000), Blocks: []slack.Block{section, section, section, section}},
		"one block": {Blocks: []slack.Block{
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, strings.Repeat("x", 30_000), false, false), nil, nil),
		}},
	} {
		b.stub.answer = answer
		p := posted{to: interaction.Commands, fields: b.slack.CommandPayload("U0ANNA", "C0ALERTS", "x"), at: time.Now(), secret: secret}
		_, encoded, err := p.post(r.Receiver)
		require.NoError(t, err)
		require.Less(t, len(encoded), 20_000, name)
		require.Equal(t, answer.Text == "" && answer.Blocks == nil, len(encoded) == 0, name)
		const note = "The answer is too long for Slack. The rest is left out."
		require.Equal(t, name != "short" && name != "none", strings.Contains(string(encoded), note), name)
		if len(encoded) > 0 {
			require.True(t, json.Valid(encoded), name)
			require.Contains(t, string(encoded), `"response_type":"ephemeral"`, "only the user sees it")
		}
	}
}

// Answers go to Slack, or to the server that stands in for it, and nowhere else: not to where a payload says, and not to where a
// redirect leads.
func TestAnswersGoToSlackOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.answer = interaction.Answer{Text: "done", Replace: true}
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	var reached []string
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		reached = append(reached, request.URL.Path)
	}))
	defer foreign.Close()
	ts := b.message(t)
	for _, to := range []string{
		foreign.URL + "/actions/hush", "http://hooks.slack.com/actions/hush", "https://hooks.slack.com:8443/hush",
		"https://hooks.slack.com.evil.test/hush",
		"https://user:hush@hooks.slack.com/", "file:///etc/hush", "//hooks.slack.com/hush", "hush", "", "http://%zz/hush",
		"https://" + strings.TrimPrefix(b.slack.APIURL(), "http://"),
	} {
		click, err := b.slack.ClickPayload("U0ANNA", ts, "relay_acknowledge")
		require.NoError(t, err)
		click["response_url"] = to
		acknowledged, _, err := posted{fields: click, at: time.Now(), secret: secret}.post(r.Receiver)
		require.NoError(t, err)
		require.True(t, acknowledged, "the effect has happened")
	}
	require.Empty(t, reached)
	require.Equal(t, 11, strings.Count(b.log.text(), `msg="interaction not answered"`), b.log.text())
	require.NotContains(t, b.log.text(), "hush")
	require.Empty(t, b.slack.Answers("U0ANNA"))
}

// An answer with buttons of its own is replaced when they are clicked, and a message that everybody sees never is.
func TestOnlyAnswersAreReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver("one")
	r.Configure([]interaction.App{b.app()}, b.stub)
	label := slack.NewTextBlockObject(slack.PlainTextType, "More", false, false)
	next := slack.NewActionBlock("", slack.NewButtonBlockElement("relay_next", "alerts/1", label))
	b.stub.answer = interaction.Answer{Text: "page", Blocks: []slack.Block{next}, Replace: true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body := new(strings.Builder)
		_ = request.Write(body)
		_, form, _ := strings.Cut(body.String(), "\r\n\r\n")
		if err := r.Post(request.Context(), interaction.Interactions, request.Header, []byte(form), func([]byte) {}); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	b.slack.PostTo(server.URL, secret)
	require.NoError(t, b.slack.Click("U0ANNA", b.message(t), "relay_acknowledge"))
	first := b.slack.Answers("U0ANNA")[0]
	require.False(t, first.Original)
	require.NoError(t, b.slack.Click("U0ANNA", first.TS, "relay_next"))
	require.True(t, b.slack.Answers("U0ANNA")[1].Replaced)
	require.Empty(t, b.stub.all()[1].Message, "only the user sees it")
	require.Error(t, b.slack.Click("U0BEN", first.TS, "relay_next"), "nobody else does")
}
