package pipeline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// grouped is a channel of a limit group that admits one message an hour, and delays the others.
func grouped(name string, to notifier.Sender) pipeline.Channel {
	ch := channel(name, to)
	ch.Group = "team"
	ch.Tiers = tiers(ratelimit.Window{Limit: 1, Per: time.Hour}, ratelimit.Window{Limit: 1000, Per: time.Hour})
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDelay, MaxDelayed: 10, MaxDelay: time.Hour, Resolves: store.ResolvesPost}
	return ch
}

func TestUnitsThatOneChannelGivesBackAdmitADelayedMessageOfItsGroupAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused error // the message of a, by Slack
		after   func(t *testing.T, admin *pipeline.Admin)
		sent    int // of a
	}{
		"by a refund": {&notifier.Error{Action: notifier.GiveUp, Reason: "is_archived", Answer: "is_archived"}, nil, 0},
		"by a reset": {nil, func(t *testing.T, admin *pipeline.Admin) {
			t.Helper()
			require.NoError(t, admin.ResetLimit(t.Context(), "a", ratelimit.LevelChannel, ""))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to := &sink{delay: 3 * time.Second, answer: func(int) error { return c.refused }}, &sink{}
				channels := []pipeline.Channel{grouped("a", from), grouped("b", to)}
				b := setup(nil, channels...)
				outbox := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
				b.courier = pipeline.NewCourier(pipeline.CourierOptions{
					Outbox: outbox, Channels: channels, Limiter: outbox, Logger: b.logger(), RecheckEvery: -1,
					Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
					Promote: func(ctx context.Context, channel string) { b.intake.Promote(ctx, channel) },
				})
				b.intake = b.intakeOf(outbox, channels...)
				admin := &pipeline.Admin{Limiter: outbox, Channels: channels, Wake: b.courier.Wake, GaveBack: b.courier.PromoteOthers}
				start := time.Now()
				b.admit(t, "a", 1)
				require.Equal(t, 1, b.admit(t, "b", 1).Delayed)
				if c.after != nil {
					time.AfterFunc(3*time.Second, func() { c.after(t, admin) })
				}
				b.run(t, 8*time.Second)
				require.Len(t, from.sent, c.sent)
				require.Len(t, to.sent, 1)
				require.WithinRange(t, to.at[0], start.Add(3*time.Second), start.Add(4*time.Second))
			})
		})
	}
}

func TestUnitsOfAChannelOfATemplateAdmitADelayedMessageOfItsGroupAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		a := grouped("a", &sink{})
		rules, err := events.NewRules([]events.Rule{{Name: "teams", Set: events.Changes{Channel: "team-{{team}}"}}}, nil)
		require.NoError(t, err)
		a.Rules = rules
		made := template(5, to)
		made.Make = func(value string) pipeline.Channel { return grouped("team-"+value, to) }
		channels := []pipeline.Channel{a}
		b := setup(nil, channels...)
		outbox := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
		metrics := pipeline.NewMetrics(prometheus.NewRegistry())
		registry := pipeline.NewRegistry(pipeline.RegistryOptions{Store: outbox})
		instances := pipeline.NewInstances([]pipeline.Template{made}, channels, registry, metrics)
		b.courier = pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: outbox, Channels: channels, Instances: instances, Limiter: outbox, Logger: b.logger(), RecheckEvery: -1, Metrics: metrics,
			Promote: func(ctx context.Context, channel string) { b.intake.Promote(ctx, channel) },
		})
		b.intake = pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: outbox, Outbox: outbox, Channels: channels, Instances: instances, Metrics: metrics, Wake: b.courier.Wake,
		})
		for _, team := range []string{"x", "y"} {
			_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Events: []events.Event{
				{ID: team, Title: team, Category: "c", Severity: events.Error, Labels: map[string]string{"team": team}},
			}})
			require.NoError(t, err)
		}
		admin := &pipeline.Admin{
			Limiter: outbox, Channels: channels, Instances: instances, Wake: b.courier.Wake, GaveBack: b.courier.PromoteOthers,
		}
		time.AfterFunc(5*time.Second, func() { _ = admin.ResetLimit(t.Context(), "team-x", ratelimit.LevelChannel, "") })
		b.run(t, 10*time.Second)
		require.Len(t, to.sent, 2)
	})
}
