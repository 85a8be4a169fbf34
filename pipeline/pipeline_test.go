package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/events"
	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink is a destination that answers what the test says.
type sink struct {
	mu     sync.Mutex
	sent   []string
	thread []string // of what was sent
	at     []time.Time
	answer func(n int) error // n counts from 0; nil = all is well
	took   time.Duration
}

func (s *sink) Send(_ context.Context, m notifier.Message) (notifier.Receipt, error) {
	time.Sleep(s.took)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.at)
	s.at = append(s.at, time.Now())
	if s.answer != nil {
		if err := s.answer(n); err != nil {
			return notifier.Receipt{}, err
		}
	}
	s.sent, s.thread = append(s.sent, m.Text), append(s.thread, m.Thread)
	return notifier.Receipt{TS: "1.000001"}, nil
}

// bundle is a pipeline in memory, inside a synctest bubble: its clock is the bubble's.
type bundle struct {
	intake   *pipeline.Intake
	courier  *pipeline.Courier
	status   *pipeline.Status
	store    *memory.Data
	registry *prometheus.Registry
	log      *bytes.Buffer
}

func setup(box func(*memory.Data) store.Outbox, channels ...pipeline.Channel) bundle {
	data := memory.NewData(memory.DataOptions{})
	limiter := memory.New(data, memory.Options{})
	b := bundle{store: data, registry: prometheus.NewRegistry(), log: &bytes.Buffer{}, status: pipeline.NewStatus(limiter, channels, nil, nil)}
	metrics := pipeline.NewMetrics(b.registry)
	if box == nil {
		box = func(data *memory.Data) store.Outbox {
			return memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
		}
	}
	b.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: box(data), Channels: channels, Metrics: metrics, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	b.intake = pipeline.NewIntake(pipeline.IntakeOptions{Limiter: limiter, Channels: channels, Metrics: metrics, Admitted: b.courier.Wake})
	return b
}

func (b bundle) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b.log, nil)) }

func channel(name string, sender notifier.Sender) pipeline.Channel {
	window := ratelimit.Window{Limit: 1000, Per: 30 * time.Minute}
	return pipeline.Channel{Name: name, Tiers: tiers(window, window), Pace: store.Pace{Burst: 1}, Sender: sender}
}

func (b bundle) take(t *testing.T, channel string, n int) pipeline.Receipt {
	t.Helper()
	var all []events.Event
	for i := range n {
		all = append(all, events.Event{ID: fmt.Sprint(i), Source: "generic", Category: "c", Severity: events.Info, Title: fmt.Sprint("t", i)})
	}
	receipt, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: channel, Sender: "me", Events: all})
	require.NoError(t, err)
	return receipt
}

// run delivers until the bubble has nothing left to do for a while.
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

func TestPaceOnlyDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Pace = store.Pace{Every: time.Second, Burst: 3}
		b := setup(nil, ch)
		start := time.Now()
		b.take(t, "a", 10)
		b.run(t, 20*time.Second)
		require.Len(t, to.sent, 10)
		for i, at := range to.at {
			earliest := time.Duration(max(0, i-2)) * time.Second
			require.WithinRange(t, at, start.Add(earliest), start.Add(earliest+300*time.Millisecond), i)
		}
	})
}

func TestMoreThanOneCallOfEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		receipt := b.take(t, "a", 300)
		require.Equal(t, []int{300, 300, 300}, []int{receipt.Received, receipt.Admitted, len(receipt.Events)})
		require.Equal(t, "299", receipt.Events[299].ID)
		again := b.take(t, "a", 300)
		require.Equal(t, 300, again.Duplicate)
	})
}

// failingLimiter fails from the second call on.
type failingLimiter struct {
	store.Limiter
	calls int
}

func (l *failingLimiter) Admit(ctx context.Context, s store.Channel, r []store.Request) ([]store.Decision, error) {
	if l.calls++; l.calls > 1 {
		return nil, store.ErrUnavailable
	}
	return l.Limiter.Admit(ctx, s, r)
}

// What was stored before the limiter failed is counted and sent; the sender is told to come again.
func TestAWebhookThatIsHalfStored(t *testing.T) {
	t.Parallel()
	limiter := &failingLimiter{Limiter: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})}
	ch, woken, registry := channel("a", &sink{}), 0, prometheus.NewRegistry()
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(registry), Admitted: func(string) { woken++ },
	})
	all := make([]events.Event, 200)
	for i := range all {
		all[i] = events.Event{ID: fmt.Sprint(i), Source: "generic", Category: "c", Title: "x"}
	}
	_, err := intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Equal(t, 1, woken)
	n, err := testutil.GatherAndCount(registry, "relay_events_received_total")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	report, err := limiter.Report(t.Context(), store.Channel{Group: "a", Name: "a"})
	require.NoError(t, err)
	require.Equal(t, int64(store.MaxBatch), report.Ledger.Received)
}

// A sender that hangs up leaves nothing half done.
func TestASenderThatHangsUp(t *testing.T) {
	t.Parallel()
	limiter := redisstore.New(redistest.Start(t).Client(), redisstore.Options{})
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: []pipeline.Channel{channel("a", &sink{})},
		Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Admitted: func(string) {},
	})
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	receipt, err := intake.Take(gone, pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{ID: "1", Category: "c", Title: "x"}}})
	require.NoError(t, err)
	require.Equal(t, 1, receipt.Admitted)
}

func TestAnUnknownChannel(t *testing.T) {
	t.Parallel()
	b := setup(nil, channel("a", &sink{}))
	_, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: "b", Sender: "me", Events: nil})
	require.ErrorIs(t, err, pipeline.ErrUnknownChannel)
	_, err = b.status.Channel(t.Context(), "b")
	require.ErrorIs(t, err, pipeline.ErrUnknownChannel)
}

func TestRetryAfterIsHonouredByThisChannelOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := &sink{answer: func(n int) error {
			if n == 1 {
				return &notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 30 * time.Second}
			}
			return nil
		}}
		free := &sink{}
		b := setup(nil, channel("a", limited), channel("b", free))
		start := time.Now()
		b.take(t, "a", 3)
		b.take(t, "b", 3)
		b.run(t, time.Minute)
		require.Equal(t, []string{"🔵 *t0*", "🔵 *t1*", "🔵 *t2*"}, limited.sent, "nothing lost, nothing twice, in order")
		require.WithinRange(t, limited.at[2], start.Add(30*time.Second), start.Add(31*time.Second))
		require.Less(t, free.at[2].Sub(start), time.Second)
	})
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(n int) error {
			if n < 12 {
				return &notifier.Error{Action: notifier.Retry, Reason: notifier.SlackUnavailable}
			}
			return nil
		}}
		b := setup(nil, channel("a", to))
		b.take(t, "a", 2)
		b.run(t, time.Hour)
		require.Equal(t, []string{"🔵 *t0*", "🔵 *t1*"}, to.sent)
		require.Greater(t, to.at[4].Sub(to.at[3]), to.at[1].Sub(to.at[0]))
		for i := 1; i < len(to.at); i++ {
			require.LessOrEqual(t, to.at[i].Sub(to.at[i-1]), 2*time.Minute)
		}
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.ledger(t, "a"))
	})
}

func TestWhatIsBuried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(n int) error {
			switch n {
			case 0:
				return &notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"}
			case 1, 2, 3:
				return &notifier.Error{Action: notifier.Retry, Reason: notifier.UnknownAnswer, OwnFault: true}
			default:
				return nil
			}
		}}
		b := setup(nil, channel("a", to))
		b.take(t, "a", 3)
		b.run(t, time.Minute)
		require.Equal(t, []string{"🔵 *t2*"}, to.sent)
		require.Len(t, to.at, 5, "a message that may be at fault gets three attempts in its place")
		require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 1, Failed: 2}, b.ledger(t, "a"))
	})
}

func TestAStoppedChannelTriesAgainByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mended := false
		to := &sink{answer: func(int) error {
			if mended {
				return nil
			}
			return &notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}
		}}
		b := setup(nil, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, 90*time.Second)
		require.Len(t, to.at, 2, "one attempt a minute")
		status, err := b.status.Channel(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "token_revoked", status.State.Reason)
		mended = true
		b.run(t, 2*time.Minute)
		require.Len(t, to.sent, 1)
	})
}

// An entry that is no event, from a newer version say, does not hold up the channel.
func TestAnUndecodableEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		window := ratelimit.Window{Limit: 10, Per: time.Minute}
		_, err := memory.New(b.store, memory.Options{}).Admit(t.Context(), store.Channel{Group: "a", Name: "a"}, []store.Request{{
			ID: "x", Levels: []ratelimit.Level{store.NewChannelLevel("a", window)}, Enqueue: &store.Enqueue{Kind: "message", Payload: []byte("{")},
		}})
		require.NoError(t, err)
		b.take(t, "a", 1)
		b.run(t, time.Second)
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, b.ledger(t, "a"))
	})
}

// flaky is an outbox whose settling fails for a while, as when Redis is away.
type flaky struct {
	store.Outbox
	failing int // how many more calls fail
	err     error
}

// over puts it on a store.
func (f *flaky) over(data *memory.Data) store.Outbox {
	f.Outbox = memory.New(data, memory.Options{Options: store.Options{Owner: "me"}})
	return f
}

func (f *flaky) Ack(ctx context.Context, ch store.Channel, entry store.Entry, at store.Receipt) error {
	if f.failing--; f.failing >= 0 {
		return f.err
	}
	return f.Outbox.Ack(ctx, ch, entry, at)
}

func (f *flaky) Bury(ctx context.Context, ch store.Channel, entry store.Entry, death store.DeadReason) error {
	if f.failing--; f.failing >= 0 {
		return f.err
	}
	return f.Outbox.Bury(ctx, ch, entry, death)
}

func TestAPostedMessageIsSettledWithPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to, box := &sink{}, &flaky{failing: 5, err: errors.New("redis is away")}
		b := setup(box.over, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.sent, 1, "not sent again")
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.ledger(t, "a"))
	})
}

func TestALostLeaseIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to, box := &sink{}, &flaky{failing: 1, err: fmt.Errorf("ack: %w", store.ErrLeaseLost)}
		b := setup(box.over, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, time.Minute)
		require.Contains(t, b.log.String(), "it may be posted twice")
		require.InDelta(t, 1, testutil.ToFloat64(counter(t, b.registry, "unsettled")), 0)
		require.Len(t, to.sent, 2)
	})
}

// A burial that could not be written down is no burial: nothing says that it was one.
func TestABurialThatIsLostIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(int) error { return &notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"} }}
		box := &flaky{failing: 1, err: fmt.Errorf("bury: %w", store.ErrLeaseLost)}
		b := setup(box.over, channel("a", to))
		b.take(t, "a", 1)
		b.run(t, time.Minute)
		require.Len(t, to.at, 2)
		require.InDelta(t, 1, testutil.ToFloat64(counter(t, b.registry, "failed")), 0)
		require.InDelta(t, 1, testutil.ToFloat64(counter(t, b.registry, "retried")), 0)
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("message moved to the dead letters")))
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Failed: 1}, b.ledger(t, "a"))
	})
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

// A send starts only if the lease outlasts Slack's time-out.
func TestAShortLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(func(data *memory.Data) store.Outbox {
			return memory.New(data, memory.Options{Options: store.Options{Owner: "me", Lease: 4 * time.Second}})
		}, pipeline.Channel{
			Name: "a", Sender: to, Pace: store.Pace{Every: time.Second, Burst: 1},
			Tiers: tiers(ratelimit.Window{Limit: 9, Per: time.Minute}, ratelimit.Window{Limit: 9, Per: time.Minute}),
		})
		b.take(t, "a", 1)
		b.run(t, 3*time.Second)
		require.Empty(t, to.at)
		require.Contains(t, b.log.String(), "the lease ends too soon")
	})
}

// What is in hand when the relay is told to stop is finished and settled.
func TestStopFinishesWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{took: 2 * time.Second}
		b := setup(nil, channel("a", to))
		b.take(t, "a", 2)
		b.run(t, time.Second)
		require.Len(t, to.sent, 1)
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Pending: 1}, b.ledger(t, "a"))
	})
}

// away is an outbox that cannot be reached.
type away struct{ store.Outbox }

func (away) Claim(context.Context, store.Channel, store.Terms, bool) (store.Claim, error) {
	return store.Claim{}, errors.New("redis is away")
}

func (away) Release(context.Context, store.Channel) error { return errors.New("redis is away") }

func TestAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(func(*memory.Data) store.Outbox { return away{} }, channel("a", &sink{}))
		b.run(t, time.Minute)
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("outbox unavailable;")))
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("could not give up the lease")))
	})
}

func TestCategoryLabelsAreCapped(t *testing.T) {
	t.Parallel()
	ch := channel("a", &sink{})
	b := setup(nil, ch)
	for i := range 1100 {
		_, err := b.intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{ID: fmt.Sprint(i), Category: fmt.Sprint("c", i), Title: "x"}}})
		require.NoError(t, err)
	}
	n, err := testutil.GatherAndCount(b.registry, "relay_events_total")
	require.NoError(t, err)
	require.Equal(t, 1000+1, n, "1,000 by name, and other")
}

func tiers(channel, category ratelimit.Window) []ratelimit.LevelSpec {
	return []ratelimit.LevelSpec{
		{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{channel}},
		{Name: ratelimit.LevelCategory, Windows: []ratelimit.Window{category}},
	}
}
