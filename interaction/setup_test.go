package interaction_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/interaction"
	"slackrelay/notifier/fakeslack"
	"slackrelay/slackapp"
	"slackrelay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	botToken = "xoxb-1"
	appToken = "xapp-1-A0001-2-hush"
	secret   = "8f742231b10e8888abcd99aabbcc85a5"
)

// stub is a Handler that keeps what it got.
type stub struct {
	mu       sync.Mutex
	clicks   []interaction.Click
	commands []interaction.Command

	answer interaction.Answer
	act    func(ctx context.Context) // before it answers; nil = nothing
}

func (s *stub) Click(ctx context.Context, click interaction.Click) interaction.Answer {
	if s.act != nil {
		s.act(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clicks = append(s.clicks, click)
	return s.answer
}

func (s *stub) Command(ctx context.Context, command interaction.Command) interaction.Answer {
	if s.act != nil {
		s.act(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, command)
	return s.answer
}

// all returns what was clicked.
func (s *stub) all() []interaction.Click {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]interaction.Click(nil), s.clicks...)
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// bundle is a fake Slack, and replicas on one store in memory.
type bundle struct {
	slack *fakeslack.Server
	store *memory.Store
	stub  *stub
	log   *lockedBuffer
	all   *[]replica // that were started
}

func setup(tb testing.TB) bundle {
	tb.Helper()
	fake, err := fakeslack.Start()
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, fake.Close()) })
	fake.AppToken = appToken
	return bundle{
		slack: fake, store: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), stub: &stub{}, log: &lockedBuffer{},
		all: &[]replica{},
	}
}

// app is the app of the fake Slack.
func (b bundle) app() interaction.App {
	return interaction.App{
		Name: "slack_token", AppToken: appToken, SigningSecret: secret, BotTokens: []string{botToken}, APIURL: b.slack.APIURL(),
	}
}

// replica is a Receiver that runs.
type replica struct {
	*interaction.Receiver
	registry *prometheus.Registry
	stop     func()
}

// start starts a replica that receives for some apps.
func (b bundle) start(tb testing.TB, owner string, apps ...interaction.App) replica {
	tb.Helper()
	r := b.receiver(owner)
	r.Configure(apps, b.stub)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	tb.Cleanup(r.stop)
	*b.all = append(*b.all, r)
	return r
}

func (b bundle) receiver(owner string) replica {
	registry := prometheus.NewRegistry()
	return replica{registry: registry, Receiver: interaction.NewReceiver(interaction.Options{
		Documents: b.store, Owner: owner, Metrics: interaction.NewMetrics(registry), Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})}
}

// message posts a message with a button, and returns its ts.
func (b bundle) message(tb testing.TB) string {
	tb.Helper()
	label := slack.NewTextBlockObject(slack.PlainTextType, "Acknowledge", false, false)
	button := slack.NewButtonBlockElement("relay_acknowledge", "alerts/1234", label)
	_, ts, err := slackapp.NewClient(botToken, b.slack.APIURL(), http.DefaultClient).PostMessageContext(tb.Context(), "C0ALERTS",
		slack.MsgOptionText("disk full", false), slack.MsgOptionBlocks(slack.NewActionBlock("", button)))
	require.NoError(tb, err)
	return ts
}

// sockets waits until so many sockets are open, by the count of Slack and by that of the replicas.
func (b bundle) sockets(tb testing.TB, want int) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		open := 0.0
		for _, r := range *b.all {
			open += r.metric(tb, "relay_slack_sockets")[""]
		}
		return b.slack.Sockets() == want && int(open) == want
	}, 15*time.Second, 10*time.Millisecond, "%s", b.log)
}

// counts returns relay_interactions_total.
func (r replica) counts(tb testing.TB) map[string]float64 {
	tb.Helper()
	return r.metric(tb, "relay_interactions_total")
}

// metric returns a counter or gauge by the values of its labels, without zeros.
func (r replica) metric(tb testing.TB, name string) map[string]float64 {
	tb.Helper()
	families, err := r.registry.Gather()
	require.NoError(tb, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			if n := m.GetCounter().GetValue() + m.GetGauge().GetValue(); family.GetName() == name && n > 0 {
				found[strings.Join(labels, " ")] = n
			}
		}
	}
	return found
}
