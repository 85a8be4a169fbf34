package simulation

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// posts is a destination that records what it gets, and how many milliseconds after the beginning.
type posts struct {
	clock func() time.Duration

	mu  sync.Mutex
	all []string
}

func (p *posts) Send(_ context.Context, m notifier.Message) (notifier.Receipt, error) {
	return notifier.Receipt{Channel: "C0", TS: fmt.Sprint(p.note("post", "to "+m.Thread, m))}, nil
}

func (p *posts) note(what, where string, m notifier.Message) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.clock().Round(100 * time.Millisecond)
	p.all = append(p.all, fmt.Sprintf("%s %s %s %q", at, what, where, m.Text+"|"+m.Fallback))
	return len(p.all)
}

// editablePosts can be edited too.
type editablePosts struct{ *posts }

func (p editablePosts) Edit(_ context.Context, at notifier.Receipt, m notifier.Message) error {
	p.note("edit", at.TS, m)
	return nil
}

// pick returns one of several values.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// randomSetting returns a setting of a channel, with any strategy and any handling of its messages.
func randomSetting(random *rand.Rand) Setting {
	window := func() ratelimit.Window {
		return ratelimit.Window{Limit: 1 + random.Int64N(6), Per: pick(random, 5*time.Second, 10*time.Second, 20*time.Second)}
	}
	tier := func(name string, kind ratelimit.StrategyKind) ratelimit.LevelSpec {
		return ratelimit.LevelSpec{Name: name, Strategy: ratelimit.Strategy{Kind: kind}, Windows: []ratelimit.Window{window()}}
	}
	var windowed []ratelimit.StrategyKind
	for _, kind := range ratelimit.Strategies() {
		if kind != ratelimit.Backlog {
			windowed = append(windowed, kind)
		}
	}
	setting := Setting{Edits: random.IntN(2) == 0, Channel: pipeline.Channel{
		Name:   "alerts",
		Tiers:  []ratelimit.LevelSpec{tier("channel", pick(random, ratelimit.Strategies()...)), tier("category", pick(random, windowed...))},
		Pace:   store.Pace{Every: pick(random, 0, time.Second, 2*time.Second), Burst: 1 + random.Int64N(3)},
		TTL:    pick(random, 0, 3*time.Second),
		Bundle: pick(random, pipeline.BundleOff, pipeline.BundleWebhook, pipeline.BundleAuto),
		Digest: store.DigestTerms{Interval: 15 * time.Second, EditEvery: 5 * time.Second, Minimum: 1 + random.Int64N(3)},
		Handling: &store.MessagePolicy{
			Overflow: pick(random, store.OverflowDrop, store.OverflowDelay), MaxDelayed: 1 + random.Int64N(8), MaxDelay: 12 * time.Second,
			Resolves: store.ResolvesPost, Digest: true,
		},
	}}
	ch := &setting.Channel
	if setting.Edits {
		ch.Handling.Overflow = pick(random, store.OverflowDrop, store.OverflowDelay, store.OverflowMerge)
		ch.Handling.Resolves = pick(random, store.ResolvesPost, store.ResolvesReply, store.ResolvesEdit)
		ch.Handling.Repeats = random.IntN(2) == 0
		ch.Handling.EditEvery = 3 * time.Second
	}
	if random.IntN(3) == 0 {
		ch.Tiers[0].Strategy = ratelimit.Strategy{}
		ch.Tiers[1].Strategy = ratelimit.Strategy{}
		ch.Tiers[0].Windows[0].Limit += 3
		ch.FirstNotice = pick(random, ratelimit.FirstNotice{Auto: true}, ratelimit.FirstNotice{Slots: 2, PerCategory: 1})
		ch.Reserves = []pipeline.Reserve{{Category: "c1", Slots: 1}}
		ch.Headroom = map[events.Severity]float64{events.Info: .5}
	}
	if random.IntN(3) == 0 {
		ch.Tiers = append(ch.Tiers, tier("host", pick(random, windowed...)))
		ch.Tiers[2].Shadow = random.IntN(2) == 0
	}
	return setting
}

// randomTrace returns a trace of 25 s. No two of its webhooks arrive within 2 ms of each other, also where tenths of a second
// are left out: what they make due is never due at the time of another.
func randomTrace(random *rand.Rand) Trace {
	var trace Trace
	for i, offset := range random.Perm(40) {
		at := time.Duration(random.IntN(250))*100*time.Millisecond + time.Duration(offset)*2500*time.Microsecond
		group := pick(random, "", "g1", "g2")
		for range pick(random, 1, 1, 1, 2, 13) {
			e := Event{
				At: at, Webhook: fmt.Sprint(i), Group: group, Category: fmt.Sprint("c", random.IntN(4)),
				Severity: pick(random, events.Critical, events.Info),
				Labels:   map[string]string{"host": fmt.Sprint("h", random.IntN(2))},
			}
			if random.IntN(5) > 0 {
				e.Fingerprint = fmt.Sprint(e.Category, random.IntN(8))
				e.Status = pick(random, events.Firing, events.Resolved)
			}
			if random.IntN(8) == 0 {
				e.ID = fmt.Sprint("id", random.IntN(5))
			}
			trace = append(trace, e)
		}
	}
	trace.Sort()
	return trace
}

// settled is how long after a trace everything is posted.
const settled = 60 * time.Second

// playLive plays a trace with a relay that runs, in a bubble of its own time.
func playLive(t *testing.T, trace Trace, setting Setting) (ledger store.Ledger, posted []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		sink := &posts{clock: clock}
		channel := setting.Channel
		channel.Sender = sink
		if setting.Edits {
			channel.Sender = editablePosts{sink}
		}
		data := memory.NewData(memory.DataOptions{Now: func() time.Time { return Start.Add(clock()) }})
		s := memory.New(data, memory.Options{Options: store.Options{Owner: "live"}})
		metrics, channels := pipeline.NewMetrics(nil), []pipeline.Channel{channel}
		var courier *pipeline.Courier
		intake := pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: s, Channels: channels, Metrics: metrics, Outbox: s, Wake: func(name string) { courier.Wake(name) },
		})
		courier = pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: s, Channels: channels, Limiter: s, Promote: intake.Promote, Metrics: metrics,
			Logger: slog.New(slog.DiscardHandler), Poll: 250 * time.Microsecond, RecheckEvery: -1,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { courier.Run(ctx) })
		for i := 0; i < len(trace); {
			n := trace.webhook(i)
			time.Sleep(trace[i].At - clock())
			webhook := make([]events.Event, n)
			for k := range webhook {
				webhook[k] = trace[i+k].decoded(i + k)
			}
			_, err := intake.Admit(ctx, pipeline.Arrival{Channel: "alerts", Events: webhook})
			require.NoError(t, err)
			synctest.Wait()
			i += n
		}
		time.Sleep(settled)
		cancel()
		running.Wait()
		report, err := s.Report(t.Context(), channel.Scope())
		require.NoError(t, err)
		ledger, posted = report.Ledger, sink.all
	})
	return ledger, posted
}

// playSimulated plays a trace as [Play] does.
func playSimulated(t *testing.T, trace Trace, setting Setting) (result Result, ledger store.Ledger, posted []string) {
	t.Helper()
	tally := newTally(&Setting{Name: "simulated"}, trace)
	var r *relay
	sink := &posts{clock: func() time.Duration { return r.now.Sub(Start) }}
	setting.slack = sink
	if setting.Edits {
		setting.slack = editablePosts{sink}
	}
	r = newRelay(&setting, tally)
	for i := 0; i < len(trace); {
		n := trace.webhook(i)
		require.NoError(t, r.admit(t.Context(), trace[i:i+n], i))
		i += n
	}
	require.NoError(t, r.finish(t.Context()))
	report, err := r.store.Report(t.Context(), r.scope)
	require.NoError(t, err)
	return tally.result(), report.Ledger, sink.all
}

// histories is how many histories the simulation plays as a relay that runs does.
var histories = flag.Int("histories", 4, "number of random histories")

func TestASimulationPostsWhatARelayThatRunsPosts(t *testing.T) {
	t.Parallel()
	for seed := range *histories {
		random := rand.New(rand.NewPCG(uint64(seed), 2))
		setting, trace := randomSetting(random), randomTrace(random)
		result, ledger, posted := playSimulated(t, trace, setting)
		live, shown := playLive(t, trace, setting)
		about := fmt.Sprintf("history %d, %+v, %+v", seed, setting.Channel, setting.Channel.Handling)
		slices.Sort(shown) // what is due at the same time has no order
		slices.Sort(posted)
		require.Equal(t, shown, posted, about)
		require.Equal(t, live, ledger, about)
		require.Zero(t, ledger.Imbalance(), about)
		require.Zero(t, ledger.Pending+ledger.Delayed, about)
		requireCounts(t, &result, ledger, posted, about)
	}
}

// requireCounts checks a result by the ledger and by what was posted.
func requireCounts(t *testing.T, result *Result, ledger store.Ledger, posted []string, about string) {
	t.Helper()
	var sum Category
	for i := range result.Categories {
		c := &result.Categories[i]
		sum.Received += c.Received
		sum.Sent += c.Sent
		sum.Merged += c.Merged
		sum.Dropped += c.Dropped
		sum.Duplicate += c.Duplicate
		sum.Expired += c.Expired
	}
	want := []int64{ledger.Received, ledger.Admitted, ledger.Merged, ledger.Dropped, ledger.Duplicate, ledger.Expired}
	require.Equal(t, want, []int64{sum.Received, sum.Sent, sum.Merged, sum.Dropped, sum.Duplicate, sum.Expired}, about)
	require.Equal(t, want,
		[]int64{result.Received, result.Sent, result.Merged, result.Dropped, result.Duplicate, result.Expired}, about)
	var messages, edits int64
	for _, one := range posted {
		if strings.Contains(one, " edit ") {
			edits++
		} else {
			messages++
		}
	}
	require.Equal(t, []int64{messages, edits}, []int64{result.Messages, result.Edits}, about)
}
