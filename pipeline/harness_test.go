package pipeline_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink is a destination whose answers the test decides.
type sink struct {
	mu     sync.Mutex
	sent   []string
	notes  []string // what was sent below its headline
	thread []string // of what was sent
	at     []time.Time
	answer func(n int) error // to the n-th request, from 0; nil = none fails
	delay  time.Duration     // before it answers
}

func (s *sink) Send(_ context.Context, m notifier.Message) (notifier.Receipt, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.at)
	s.at = append(s.at, time.Now())
	if s.answer != nil {
		if err := s.answer(n); err != nil {
			return notifier.Receipt{}, err
		}
	}
	s.sent = append(s.sent, m.Text)
	s.notes = append(s.notes, m.Fallback)
	s.thread = append(s.thread, m.Thread)
	return notifier.Receipt{TS: "1.000001"}, nil
}

// posted returns what was sent so far.
func (s *sink) posted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// below returns what was sent below each headline so far.
func (s *sink) below() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// bot is a sink that can edit and look up messages, with a credential.
type bot struct {
	sink
	edits  []string
	looked []time.Time
	page   func(n int, q notifier.Query) (notifier.Page, error) // of a lookup; nil = it finds nothing
	refuse func() error                                         // an edit; nil = none is refused
	posts  int64                                                // in a minute; 0 = as Slack allows
	token  string                                               // "" = all such bots have the same
}

func (b *bot) Workspace() string { return "ws" + b.token }
func (b *bot) Findable() bool    { return true }

func (b *bot) PerMinute() notifier.Rates {
	rates := notifier.SlackRates()
	rates.Posts = cmp.Or(b.posts, rates.Posts)
	return rates
}

func (b *bot) Edit(_ context.Context, at notifier.Receipt, m notifier.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		if err := b.refuse(); err != nil {
			return err
		}
	}
	b.edits = append(b.edits, at.TS+" "+m.Text)
	return nil
}

func (b *bot) Find(_ context.Context, q notifier.Query) (notifier.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked = append(b.looked, time.Now())
	if b.page == nil {
		return notifier.Page{}, nil
	}
	return b.page(len(b.looked)-1, q)
}

// unknownState makes attempts whose delivery state is unknown.
func unknownState(attempts ...int) func(n int) error {
	return func(n int) error {
		if slices.Contains(attempts, n) {
			return &notifier.Error{Action: notifier.Retry, Reason: notifier.TimedOut, MaybePosted: true, Answer: "no answer"}
		}
		return nil
	}
}

// bundle is a pipeline in memory, inside a synctest bubble: its clock is the bubble's.
type bundle struct {
	intake   *pipeline.Intake
	courier  *pipeline.Courier
	status   *pipeline.StatusReader
	store    *memory.Data
	registry *prometheus.Registry
	log      *bytes.Buffer
}

// setup makes a pipeline of the channels. box makes the Courier's outbox; nil = the one in memory.
func setup(box func(*memory.Data) pipeline.CourierOutbox, channels ...pipeline.Channel) bundle {
	data := memory.NewData(memory.DataOptions{})
	limiter := memory.New(data, memory.Options{})
	b := bundle{
		store: data, registry: prometheus.NewRegistry(), log: &bytes.Buffer{},
		status: pipeline.NewStatusReader(limiter, channels, nil, nil),
	}
	metrics := pipeline.NewMetrics(b.registry)
	if box == nil {
		box = func(data *memory.Data) pipeline.CourierOutbox {
			return memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
		}
	}
	b.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: box(data), Channels: channels, Metrics: metrics, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	b.intake = pipeline.NewIntake(pipeline.IntakeOptions{Limiter: limiter, Channels: channels, Metrics: metrics, Wake: b.courier.Wake})
	return b
}

func (b bundle) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b.log, nil)) }

func channel(name string, sender notifier.Sender) pipeline.Channel {
	window := ratelimit.Window{Limit: 1000, Per: 30 * time.Minute}
	return pipeline.Channel{Name: name, Tiers: tiers(window, window), Pace: store.Pace{Burst: 1}, Sender: sender}
}

func tiers(channel, category ratelimit.Window) []ratelimit.LevelSpec {
	return []ratelimit.LevelSpec{
		{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{channel}},
		{Name: ratelimit.LevelCategory, Windows: []ratelimit.Window{category}},
	}
}

// admit sends n events of category c through the intake, with the ids 0 to n-1.
func (b bundle) admit(t *testing.T, channel string, n int) pipeline.Receipt {
	t.Helper()
	var all []events.Event
	for i := range n {
		all = append(all, events.Event{
			ID: fmt.Sprint(i), Source: "generic", Category: "c", Severity: events.Info, Title: fmt.Sprint("t", i),
		})
	}
	receipt, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: channel, Sender: "me", Events: all})
	require.NoError(t, err)
	return receipt
}

// run delivers for a while of the bubble's time.
func (b bundle) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	b.courier.Run(ctx)
}

func (b bundle) ledger(t *testing.T, channel string) store.Ledger {
	t.Helper()
	status, err := b.status.Channel(t.Context(), channel)
	require.NoError(t, err)
	require.Zero(t, status.Ledger.Imbalance())
	return status.Ledger
}

// counter finds relay_messages_total of a result.
func counter(t *testing.T, registry *prometheus.Registry, result string) prometheus.Collector {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "found"})
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if family.GetName() == "relay_messages_total" && label.GetValue() == result {
					gauge.Set(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return gauge
}
