package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// following is a pipeline whose channels follow problems.
type following struct {
	bundle
	t    *testing.T
	away atomic.Bool // the documents are unavailable
	n    int         // events so far
	// saves is how often documents were saved.
	saves atomic.Int64
	stop  func()

	limiter     *memory.Store
	inhibitions []*problem.CompiledInhibition
	missed      pipeline.MissedEvents
}

// documents are the documents of a store that may be away.
type documents struct {
	*memory.Store
	f *following
}

func (d documents) Problems(ctx context.Context, channel store.Channel, names []string) (int64, []store.Problem, error) {
	if d.f.away.Load() {
		return 0, nil, ratelimit.ErrUnavailable
	}
	return d.Store.Problems(ctx, channel, names)
}

func (d documents) DueProblems(ctx context.Context, channel store.Channel, most int) (int64, []store.Problem, error) {
	if d.f.away.Load() {
		return 0, nil, ratelimit.ErrUnavailable
	}
	return d.Store.DueProblems(ctx, channel, most)
}

func (d documents) SaveProblems(
	ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (bool, error) {
	d.f.saves.Add(1)
	return d.Store.SaveProblems(ctx, channel, changes, counts)
}

// follow starts one. It must be in a synctest bubble.
func follow(t *testing.T, inhibitions []problem.Inhibition, channels ...pipeline.Channel) *following {
	t.Helper()
	f := &following{t: t, bundle: setup(nil, channels...)}
	limiter := memory.New(f.store, memory.Options{Options: store.Options{Owner: "me"}})
	var compiled []*problem.CompiledInhibition
	for _, i := range inhibitions {
		one, err := i.Compile()
		require.NoError(t, err)
		compiled = append(compiled, one)
	}
	f.inhibitions, f.limiter = compiled, limiter
	f.start(channels)
	return f
}

// start starts the intake and the courier of the channels.
func (f *following) start(channels []pipeline.Channel) {
	queue := documents{f.limiter, f}
	f.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: f.limiter, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		Wake: func(name string) { f.courier.Wake(name) }, Problems: queue, Missed: &f.missed, Inhibitions: f.inhibitions, Logger: f.logger(),
	})
	f.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: f.limiter, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: f.logger(),
		Problems: f.intake.ProblemWork(queue),
	})
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() { f.courier.Run(ctx); close(done) }()
	f.stop = func() { cancel(); <-done }
}

// reload replaces the intake and the courier.
func (f *following) reload(channels ...pipeline.Channel) {
	f.stop()
	f.start(channels)
}

// send sends an event of an alert to a channel, and returns its receipt.
func (f *following) send(channel, alert string, status events.Status, labels ...string) pipeline.EventReceipt {
	f.t.Helper()
	f.n++
	e := events.Event{
		ID: fmt.Sprint(f.n), Source: "generic", Category: "c", Severity: events.Error, Title: fmt.Sprintf("%s %s %d", alert, status, f.n),
		Fingerprint: alert, Status: status, Labels: map[string]string{"alert": alert},
	}
	for i := 0; i < len(labels); i += 2 {
		e.Labels[labels[i]] = labels[i+1]
	}
	receipt, err := f.intake.Admit(f.t.Context(), pipeline.Arrival{Channel: channel, Sender: "me", Events: []events.Event{e}})
	require.NoError(f.t, err)
	require.Len(f.t, receipt.Events, 1)
	return receipt.Events[0]
}

// wait lets time pass, and checks the ledgers.
func (f *following) wait(d time.Duration) {
	f.t.Helper()
	time.Sleep(d)
	synctest.Wait()
}

// holding is a channel that holds for a minute.
func holding(name string, to *sink) pipeline.Channel {
	ch := channel(name, to)
	ch.Hold = time.Minute
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, PostedFor: time.Hour}
	return ch
}

func TestAlertThatResolvesWhileHeldIsNotPosted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nil, holding("a", to))
		defer f.stop()
		held := f.send("a", "disk", events.Firing)
		require.Equal(t, "delayed", held.Outcome)
		require.Equal(t, "hold", held.By)
		require.Equal(t, "it is posted in 1 minute, unless it resolves before", held.Explanation)
		f.wait(10 * time.Second)
		require.Equal(t, store.Ledger{Received: 1, Delayed: 1}, f.ledger(t, "a"))
		require.Equal(t, "merged", f.send("a", "disk", events.Firing).Outcome)
		require.Equal(t, "muted", f.send("a", "disk", events.Resolved).Outcome)
		require.Equal(t, "muted", f.send("a", "disk", events.Resolved).Outcome, "nobody misses this one either")
		f.wait(time.Hour)
		require.Empty(t, to.posted())
		require.Equal(t, store.Ledger{Received: 4, Merged: 1, Muted: 3}, f.ledger(t, "a"))
	})
}

func TestHeldAlertsArePostedInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nil, holding("a", to))
		defer f.stop()
		for i := range 5 {
			f.send("a", fmt.Sprint("z", 9-i), events.Firing)
			f.wait(time.Millisecond)
		}
		f.send("a", "z9", events.Firing) // the newest text, at the first time
		f.wait(59 * time.Second)
		require.Empty(t, to.posted())
		f.wait(10 * time.Second)
		require.Len(t, to.posted(), 5)
		require.Contains(t, to.posted()[0], "z9 firing 6")
		for i := 1; i < 5; i++ {
			require.Contains(t, to.posted()[i], fmt.Sprintf("z%d firing %d", 9-i, i+1))
		}
		require.Equal(t, store.Ledger{Received: 6, Admitted: 5, Merged: 1, Delivered: 5}, f.ledger(t, "a"))
		require.Equal(t, "admitted", f.send("a", "z9", events.Firing).Outcome, "a repeat is not held")
		require.Equal(t, "admitted", f.send("a", "z9", events.Resolved).Outcome)
		require.Equal(t, "delayed", f.send("a", "z9", events.Firing).Outcome, "the next one is")
	})
}

func TestEventWithoutFingerprintIsNotHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, nil, holding("a", &sink{}))
		defer f.stop()
		require.Equal(t, "admitted", f.send("a", "", events.Firing).Outcome)
		require.Equal(t, "admitted", f.send("a", "x", events.NoStatus).Outcome)
	})
}

func TestRuleHoldsWhatItMatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch, disk, minute := channel("a", &sink{}), "disk", time.Minute
		rules, err := events.NewRules([]events.Rule{{
			Name: "wait", Match: []events.Matcher{{Field: "label.alert", Is: &disk}}, Set: events.Changes{Hold: &minute},
		}}, nil)
		require.NoError(t, err)
		ch.Rules = rules
		f := follow(t, nil, ch)
		defer f.stop()
		require.Equal(t, "admitted", f.send("a", "cpu", events.Firing).Outcome)
		require.Equal(t, "delayed", f.send("a", "disk", events.Firing).Outcome)
	})
}

func TestPlainRepeatsAreWrittenOnlyToBeRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch := holding("a", &sink{})
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.wait(2 * time.Minute)
		f.saves.Store(0)
		for range 29 { // minutes
			f.wait(time.Minute)
			require.Equal(t, "admitted", f.send("a", "disk", events.Firing).Outcome)
		}
		require.Equal(t, int64(1), f.saves.Load(), "after a quarter of the hour for which a posted alert is remembered")
		for range 12 {
			f.wait(10 * time.Minute)
			require.Equal(t, "admitted", f.send("a", "disk", events.Firing).Outcome, "it is remembered for longer than an hour")
		}
		require.Equal(t, "admitted", f.send("a", "disk", events.Resolved).Outcome)
		require.Equal(t, "delayed", f.send("a", "disk", events.Firing).Outcome, "a new one waits")
	})
}

func TestRuleEndsTheHoldOfItsChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch, down, never := holding("a", &sink{}), "down", time.Duration(0)
		rules, err := events.NewRules([]events.Rule{{
			Name: "at once", Match: []events.Matcher{{Field: "label.alert", Is: &down}}, Set: events.Changes{Hold: &never},
		}}, nil)
		require.NoError(t, err)
		ch.Rules = rules
		f := follow(t, nil, ch)
		defer f.stop()
		require.Equal(t, "delayed", f.send("a", "disk", events.Firing).Outcome)
		require.Equal(t, "admitted", f.send("a", "down", events.Firing).Outcome)
		require.Equal(t, "admitted", f.send("a", "down", events.Resolved).Outcome)
	})
}

func TestFlappingAlertIsSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 3, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		for range 2 {
			f.send("a", "disk", events.Firing)
			f.wait(time.Minute)
			f.send("a", "disk", events.Resolved)
			f.wait(time.Minute)
		}
		require.Len(t, to.posted(), 3)
		require.Contains(t, to.below()[2],
			"flapping: 3 changes in 10 minutes; further changes are counted until it is stable for 15 minutes")
		quiet := f.send("a", "disk", events.Firing)
		require.Equal(t, "merged", quiet.Outcome)
		require.Equal(t, "flapping", quiet.By)
		f.wait(16 * time.Minute)
		require.Len(t, to.posted(), 4)
		require.Contains(t, to.below()[3], "still firing; stable for 15 minutes, after 2 more changes that nobody had to read")
		require.Equal(t, store.Ledger{Received: 6, Admitted: 4, Merged: 2, Delivered: 4}, f.ledger(t, "a"))
		f.send("a", "disk", events.Resolved)
		f.wait(time.Minute)
		require.Len(t, to.posted(), 5)
	})
}

func TestResolveThatBeginsToFlapIsPostedAndThenTheNotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 2, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		f.wait(10 * time.Second)
		require.Len(t, to.posted(), 3)
		require.Contains(t, to.below()[2], "flapping: 2 changes")
		f.wait(16 * time.Minute)
		require.Len(t, to.posted(), 4)
		require.Contains(t, to.below()[3], "resolved; stable for 15 minutes, after 0 more changes")
		require.Equal(t, store.Ledger{Received: 4, Admitted: 4, Delivered: 4}, f.ledger(t, "a"))
	})
}

// nodeDown mutes what happens on a node that is down.
func nodeDown() []problem.Inhibition {
	down := "node-down"
	return []problem.Inhibition{{
		Name: "node", Source: []events.Matcher{{Field: "label.alert", Is: &down}},
		Target: []events.Matcher{{Field: "label.alert", Is: &down, Not: true}}, Equal: []string{"node"},
		SourceTTL: time.Hour, ReleaseAfter: time.Minute,
	}}
}

func TestTargetIsMutedWhileItsSourceFires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		infra, apps := &sink{}, &sink{}
		f := follow(t, nodeDown(), channel("infra", infra), channel("apps", apps))
		defer f.stop()
		require.Equal(t, "admitted", f.send("infra", "node-down", events.Firing, "node", "n1").Outcome, "it does not mute itself")
		muted := f.send("apps", "disk", events.Firing, "node", "n1")
		require.Equal(t, "muted", muted.Outcome)
		require.Equal(t, "inhibition node", muted.By)
		require.Equal(t, "node-down firing 1 fires", muted.Explanation)
		require.Equal(t, "admitted", f.send("apps", "disk2", events.Firing, "node", "n2").Outcome)
		require.Equal(t, "muted", f.send("apps", "cpu", events.Firing, "node", "n1").Outcome)
		f.wait(10 * time.Minute)
		require.Equal(t, "muted", f.send("apps", "cpu", events.Resolved, "node", "n1").Outcome)
		require.Equal(t, "admitted", f.send("infra", "node-down", events.Resolved, "node", "n1").Outcome)
		f.wait(50 * time.Second)
		require.Len(t, apps.posted(), 1)
		f.wait(20 * time.Second)
		require.Len(t, apps.posted(), 2)
		require.Contains(t, apps.posted()[1], "disk firing 2")
		require.Contains(t, apps.below()[1], `still firing; inhibition "node" muted it for 11m`)
		require.Equal(t, store.Ledger{Received: 5, Admitted: 2, Muted: 3, Delivered: 2}, f.ledger(t, "apps"))
		require.Equal(t, "admitted", f.send("apps", "disk", events.Resolved, "node", "n1").Outcome)
	})
}

func TestResolveOfAFiringThatWasPostedBeforeItsSourceIsPosted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, nodeDown(), channel("a", &sink{}))
		defer f.stop()
		require.Equal(t, "admitted", f.send("a", "disk", events.Firing, "node", "n1").Outcome)
		f.send("a", "node-down", events.Firing, "node", "n1")
		require.Equal(t, "muted", f.send("a", "disk", events.Firing, "node", "n1").Outcome)
		require.Equal(t, "admitted", f.send("a", "disk", events.Resolved, "node", "n1").Outcome)
	})
}

func TestHeldAlertIsMutedIfItsSourceFiresMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nodeDown(), holding("a", to), channel("infra", &sink{}))
		defer f.stop()
		f.send("a", "disk", events.Firing, "node", "n1")
		f.send("infra", "node-down", events.Firing, "node", "n1")
		f.wait(2 * time.Minute)
		require.Empty(t, to.posted())
		require.Equal(t, store.Ledger{Received: 1, Muted: 1}, f.ledger(t, "a"))
		f.wait(2 * time.Hour) // the source is forgotten
		require.Len(t, to.posted(), 1)
	})
}

func TestHeldAlertIsNotPostedAfterAResolveThatPassedInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nil, holding("a", to))
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.away.Store(true)
		f.wait(30 * time.Second)
		require.Equal(t, "suppressed", f.send("a", "disk", events.Resolved).Level, "it passes, and nobody has read its firing")
		f.wait(10 * time.Minute)
		f.away.Store(false)
		f.wait(10 * time.Minute)
		require.Empty(t, to.posted())
		require.Equal(t, store.Ledger{Received: 2, Dropped: 1, Muted: 1}, f.ledger(t, "a"))
	})
}

// A replica dies between the steps of a release: another one finishes it, and nothing is counted twice.
func TestReleaseThatWasInterruptedIsFinishedOnce(t *testing.T) {
	t.Parallel()
	for step := range 3 {
		synctest.Test(t, func(t *testing.T) {
			to := &sink{}
			ch := holding("a", to)
			f := follow(t, nil, ch)
			f.stop()
			data := memory.New(f.store, memory.Options{Options: store.Options{Owner: "dies"}})
			dying := &dyingStore{Store: data, step: step}
			in := pipeline.NewIntake(pipeline.IntakeOptions{
				Limiter: dying, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
				Wake: func(string) {}, Problems: dying,
			})
			f.intake = in
			f.send("a", "disk", events.Firing)
			time.Sleep(time.Minute + time.Second)
			now, due, err := data.DueProblems(t.Context(), ch.Scope(), 10)
			require.NoError(t, err)
			dying.armed = true
			require.Error(t, in.LookAtProblems(t.Context(), ch.Scope(), now, due))
			other := follow(t, nil, ch)
			other.stop()
			other.store = f.store
			lives := memory.New(f.store, memory.Options{Options: store.Options{Owner: "lives"}})
			in = pipeline.NewIntake(pipeline.IntakeOptions{
				Limiter: lives, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
				Wake: func(string) {}, Problems: lives,
			})
			courier := pipeline.NewCourier(pipeline.CourierOptions{
				Outbox: lives, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: f.logger(),
				Problems: in.ProblemWork(lives),
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			courier.Run(ctx)
			require.Len(t, to.posted(), 1)
			require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, f.ledger(t, "a"))
		})
	}
}

var errDied = errors.New("died")

// dyingStore is a store whose process dies before its n-th step: the claim of a document, the admission, the end.
type dyingStore struct {
	*memory.Store
	armed bool
	step  int
}

func (d *dyingStore) died() bool {
	d.step--
	return d.armed && d.step < 0
}

func (d *dyingStore) SaveProblems(
	ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (bool, error) {
	if d.armed && d.died() {
		return false, errDied
	}
	return d.Store.SaveProblems(ctx, channel, changes, counts)
}

func (d *dyingStore) Admit(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	if d.armed && d.died() {
		return store.Answer{}, errDied
	}
	return d.Store.Admit(ctx, channel, requests)
}

func TestHeldGroupIsPostedAsOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		ch := holding("a", nil)
		ch.Bundle = pipeline.BundleAuto
		ch.Sender = to
		ch.Handling.Resolves = store.ResolvesEdit
		f := follow(t, nil, ch)
		defer f.stop()
		var group []events.Event
		for i := range 20 {
			group = append(group, events.Event{
				ID: fmt.Sprint(i), Source: "generic", Category: "c", Severity: events.Error, Title: fmt.Sprint("alert ", i),
				Fingerprint: fmt.Sprint(i), Status: events.Firing, Group: "g",
			})
		}
		receipt, err := f.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: group})
		require.NoError(t, err)
		require.Equal(t, 20, receipt.Delayed)
		f.wait(2 * time.Minute)
		require.Len(t, to.posted(), 1)
	})
}

// beside returns what sends events to another replica, which shares the store.
func (f *following) beside(ch ...pipeline.Channel) *following {
	limiter := memory.New(f.store, memory.Options{Options: store.Options{Owner: "other"}})
	other := &following{bundle: f.bundle, t: f.t, inhibitions: f.inhibitions, limiter: limiter}
	other.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: ch, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: f.courier.Wake, Problems: limiter,
		Inhibitions: f.inhibitions,
	})
	return other
}

// A replica that missed a resolve reports it late. What the other replicas heard since then is newer.
func TestResolveThatIsReportedLateDoesNotEndANewFiring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nil, holding("a", to))
		defer f.stop()
		other := f.beside(holding("a", to))
		other.send("a", "disk", events.Firing)
		f.wait(2 * time.Minute)
		require.Len(t, to.posted(), 1)
		f.away.Store(true)
		f.n = 10
		require.Equal(t, "admitted", f.send("a", "disk", events.Resolved).Outcome)
		other.n = 10
		other.send("a", "disk", events.Resolved) // its sender repeats it to another replica
		f.wait(time.Minute)
		require.Equal(t, "delayed", other.send("a", "disk", events.Firing).Outcome)
		f.wait(20 * time.Second)
		f.away.Store(false)
		f.wait(5 * time.Minute)
		require.Contains(t, to.posted()[len(to.posted())-1], "disk firing 12")
	})
}

// The same for the source of an inhibition.
func TestSourceThatFiresAgainIsNotEndedByALateReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		channels := []pipeline.Channel{channel("infra", &sink{}), channel("apps", &sink{})}
		f := follow(t, nodeDown(), channels...)
		defer f.stop()
		other := f.beside(channels...)
		other.send("infra", "node-down", events.Firing, "node", "n1")
		f.n, other.n = 10, 10
		f.away.Store(true)
		f.send("infra", "node-down", events.Resolved, "node", "n1")
		other.send("infra", "node-down", events.Resolved, "node", "n1")
		f.wait(10 * time.Second)
		other.send("infra", "node-down", events.Firing, "node", "n1")
		f.wait(10 * time.Second)
		f.away.Store(false)
		f.wait(time.Minute)
		require.Equal(t, "muted", f.send("apps", "disk", events.Firing, "node", "n1").Outcome)
	})
}

// What is said of an alert that is stable again is a whole event, also where a late report of a resolve ended it.
func TestFlappingAlertWhoseResolveWasMissedIsStableWithItsTitle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 3, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		f.send("a", "disk", events.Firing)
		f.wait(time.Minute)
		f.away.Store(true)
		f.send("a", "disk", events.Resolved)
		f.wait(10 * time.Second)
		f.away.Store(false)
		f.wait(20 * time.Minute)
		require.Contains(t, to.below()[len(to.below())-1], "resolved; stable for 15 minutes")
		require.Contains(t, to.posted()[len(to.posted())-1], "disk resolved 4")
	})
}

// An alert that passed in an outage was read. Its resolve is not muted, although the alert fired again and is held.
func TestResolveOfAnAlertThatPassedInAnOutageIsNotMuted(t *testing.T) {
	t.Parallel()
	for _, heldBefore := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			to := &sink{}
			f := follow(t, nil, holding("a", to))
			defer f.stop()
			if heldBefore {
				require.Equal(t, "delayed", f.send("a", "disk", events.Firing).Outcome)
				f.wait(10 * time.Second)
			}
			f.away.Store(true)
			require.Equal(t, "admitted", f.send("a", "disk", events.Firing).Outcome)
			f.wait(10 * time.Second)
			f.away.Store(false)
			f.wait(10 * time.Second)
			require.Equal(t, "admitted", f.send("a", "disk", events.Firing).Outcome, "nobody waits for what was read")
			f.wait(10 * time.Second)
			require.Equal(t, "admitted", f.send("a", "disk", events.Resolved).Outcome)
			f.wait(5 * time.Minute)
			require.Len(t, to.posted(), 3)
			require.Zero(t, f.ledger(t, "a").Imbalance())
			require.Zero(t, f.ledger(t, "a").Delayed)
		})
	}
}

// A firing that the limiter could not decide about was not read: it is held when its sender repeats it.
func TestFiringThatNobodyDecidedAboutIsHeldWhenItIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch := holding("a", &sink{})
		f := follow(t, nil, ch)
		defer f.stop()
		limiter := &refusing{Store: memory.New(f.store, memory.Options{Options: store.Options{Owner: "me"}}), calls: 1}
		f.away.Store(true)
		f.intake = pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
			Wake: f.courier.Wake, Problems: documents{limiter.Store, f},
		})
		arrival := pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{
			ID: "1", Source: "generic", Category: "c", Severity: events.Error, Title: "disk", Fingerprint: "disk", Status: events.Firing,
		}}}
		_, err := f.intake.Admit(t.Context(), arrival)
		require.ErrorIs(t, err, ratelimit.ErrUnavailable)
		f.away.Store(false)
		require.NoError(t, f.intake.ReportMissed(t.Context()))
		receipt, err := f.intake.Admit(t.Context(), arrival)
		require.NoError(t, err)
		require.Equal(t, "delayed", receipt.Events[0].Outcome)
	})
}

// An alert that fires and flaps, and whose newest firing passed in an outage, is not said to be resolved.
func TestFlappingAlertThatFiredInAnOutageStillFires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 2, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		f.wait(time.Minute)
		f.away.Store(true)
		require.Equal(t, "admitted", f.send("a", "disk", events.Firing).Outcome)
		f.wait(10 * time.Second)
		f.away.Store(false)
		f.wait(30 * time.Minute)
		require.Contains(t, to.below()[len(to.below())-1], "still firing; stable for 15 minutes")
	})
}

// An alert that does nothing more after the firing with which it began to flap is said again as a whole.
func TestAlertThatBeginsToFlapAndStaysIsStableWithItsTitle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 3, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		f.send("a", "disk", events.Firing)
		f.wait(20 * time.Minute)
		require.Contains(t, to.below()[len(to.below())-1], "still firing; stable for 15 minutes, after 0 more changes")
		require.Contains(t, to.posted()[len(to.posted())-1], "disk firing 3")
	})
}

// A firing may come again after its resolve: from a second Alertmanager, or from a replica that was stopped meanwhile.
func TestHeldFiringThatComesAgainAfterItsResolveIsADuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nil, holding("a", to))
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		f.n = 0
		require.Equal(t, "duplicate", f.send("a", "disk", events.Firing).Outcome)
		f.n = 2
		require.Equal(t, "delayed", f.send("a", "disk", events.Firing).Outcome, "another one")
		f.wait(2 * time.Minute)
		require.Len(t, to.posted(), 1)
		require.Equal(t, store.Ledger{Received: 4, Admitted: 1, Muted: 2, Duplicate: 1, Delivered: 1}, f.ledger(t, "a"))
	})
}

// refusing is a limiter that is unavailable for some calls.
type refusing struct {
	*memory.Store
	calls int // that are refused
}

func (r *refusing) Admit(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	if r.calls--; r.calls >= 0 {
		return store.Answer{}, ratelimit.ErrUnavailable
	}
	return r.Store.Admit(ctx, channel, requests)
}

// The sender of an event that the limiter could not decide about repeats it. It is posted then, with the remark.
func TestEventThatBeginsToFlapIsPostedIfItIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 3, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		limiter := &refusing{Store: memory.New(f.store, memory.Options{Options: store.Options{Owner: "me"}}), calls: 1}
		f.intake = pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
			Wake: f.courier.Wake, Problems: limiter,
		})
		arrival := pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{
			ID: "3", Source: "generic", Category: "c", Severity: events.Error, Title: "disk", Fingerprint: "disk", Status: events.Firing,
			Labels: map[string]string{"alert": "disk"},
		}}}
		_, err := f.intake.Admit(t.Context(), arrival)
		require.ErrorIs(t, err, ratelimit.ErrUnavailable)
		receipt, err := f.intake.Admit(t.Context(), arrival)
		require.NoError(t, err)
		require.Equal(t, "admitted", receipt.Events[0].Outcome)
		f.wait(time.Minute)
		require.Len(t, to.posted(), 3)
		require.Contains(t, to.below()[2], "flapping: 3 changes")
		receipt, err = f.intake.Admit(t.Context(), arrival)
		require.NoError(t, err)
		require.Equal(t, "duplicate", receipt.Events[0].Outcome)
	})
}
