package pipeline_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/silence"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// silenced are replicas that mute events of the channels alerts and web, with notices, and quiet, without.
type silenced struct {
	store    silence.Store
	data     *memory.Data
	replicas []*silencingReplica
	to       map[string]*sink
	courier  *pipeline.Courier
	message  *store.PostedMessage // that the store has
}

// silencedOutbox is an outbox with one posted message.
type silencedOutbox struct {
	*memory.Store
	of *silenced
}

func (o silencedOutbox) PostedMessage(context.Context, store.Channel, int64) (*store.PostedMessage, error) {
	return o.of.message, nil
}

type silencingReplica struct {
	silencer *silence.Silencer
	notices  *pipeline.SilenceNotices
	intake   *pipeline.Intake
}

func newSilenced(replicas int) *silenced {
	s := &silenced{store: silence.NewMemory(nil), data: memory.NewData(memory.DataOptions{}), to: map[string]*sink{}}
	var channels []pipeline.Channel
	for _, name := range []string{"alerts", "web", "quiet"} {
		s.to[name] = &sink{}
		ch := channel(name, s.to[name])
		ch.SilenceNotices = name != "quiet"
		channels = append(channels, ch)
	}
	for range replicas {
		r := &silencingReplica{silencer: silence.New(silence.Options{Store: s.store})}
		limiter := memory.New(s.data, memory.Options{})
		r.notices = pipeline.NewSilenceNotices(pipeline.SilenceNoticeOptions{
			Silences: r.silencer, Store: limiter, Outbox: silencedOutbox{limiter, s}, Wake: func(string) {},
			Channel: func(name string) *pipeline.Channel { return r.intake.Channel(name) },
		})
		r.intake = pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: channels, Wake: func(string) {}, Silences: r.silencer, SilenceNotices: r.notices,
			Metrics: pipeline.NewMetrics(prometheus.NewRegistry()),
		})
		s.replicas = append(s.replicas, r)
	}
	s.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: memory.New(s.data, memory.Options{Options: store.Options{Owner: "me"}}), Channels: channels,
		Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	return s
}

// run runs all replicas for a while.
func (s *silenced) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	for _, r := range s.replicas {
		all.Go(func() { r.silencer.Run(ctx) })
		all.Go(func() { r.notices.Run(ctx) })
	}
	all.Go(func() { s.courier.Run(ctx) })
	all.Wait()
}

// mute sends an alert of each id to a channel, through the replicas in turn.
func (s *silenced) mute(t *testing.T, channel string, status events.Status, ids ...int) {
	t.Helper()
	for i, id := range ids {
		event := events.Event{
			ID: fmt.Sprint(channel, status, id), Source: "generic", Fingerprint: fmt.Sprint(id), Category: "disk", Status: status,
			Severity: events.Error, Title: "t",
		}
		intake := s.replicas[i%len(s.replicas)].intake
		receipt, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: channel, Sender: "me", Events: []events.Event{event}})
		require.NoError(t, err)
		require.Equal(t, 1, receipt.Muted)
	}
}

// resolve sends a resolve that no silence mutes.
func (s *silenced) resolve(t *testing.T, channel string, id int) {
	t.Helper()
	event := events.Event{
		ID: fmt.Sprint(channel, "resolved", id), Source: "generic", Fingerprint: fmt.Sprint(id), Category: "disk",
		Status: events.Resolved, Title: "t",
	}
	receipt, err := s.replicas[0].intake.Admit(t.Context(), pipeline.Arrival{Channel: channel, Sender: "me", Events: []events.Event{event}})
	require.NoError(t, err)
	require.Zero(t, receipt.Muted)
}

func (s *silenced) add(t *testing.T, one silence.Silence, duration time.Duration) silence.Silence {
	t.Helper()
	is := "disk"
	one.Matchers = append(one.Matchers, events.Matcher{Field: "category", Is: &is})
	one.Author = "ada"
	one.Reason = "deploying"
	made, err := s.replicas[0].silencer.Add(t.Context(), one, duration)
	require.NoError(t, err)
	return made
}

// A silence of a channel is announced when it is made, an hour before its end while an alert still fires, and at its end: once,
// though three replicas look.
func TestSilenceIsAnnouncedOnceInItsChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSilenced(3)
		s.run(t, time.Second)
		s.add(t, silence.Silence{Channel: "alerts"}, 4*time.Hour)
		s.run(t, 10*time.Second)
		require.Len(t, s.to["alerts"].posted(), 1)
		require.Regexp(t, `^🔕 \*Silenced until .*\*: category is disk$`, s.to["alerts"].posted()[0])
		require.Equal(t, "by ada: deploying", s.to["alerts"].below()[0])

		s.mute(t, "alerts", events.Firing, 1, 2, 3, 4)
		s.run(t, 10*time.Second)
		s.mute(t, "alerts", events.Resolved, 1)
		s.mute(t, "alerts", events.Firing, 2)
		s.run(t, 2*time.Hour)
		require.Len(t, s.to["alerts"].posted(), 1)
		s.run(t, time.Hour)
		require.Len(t, s.to["alerts"].posted(), 2)
		require.Regexp(t, `^⏰ \*A silence ends at .*\*, and 3 alerts still fire: category is disk$`, s.to["alerts"].posted()[1])
		require.Equal(t, "by ada: deploying · 6 events muted here", s.to["alerts"].below()[1])

		s.mute(t, "alerts", events.Resolved, 2, 3, 4)
		s.run(t, 2*time.Hour)
		require.Len(t, s.to["alerts"].posted(), 3)
		require.Equal(t, "🔔 *A silence has ended*: category is disk", s.to["alerts"].posted()[2])
		require.Equal(t, "by ada: deploying · 9 events muted here", s.to["alerts"].below()[2])
	})
}

// A silence that lets resolves pass does not report an alert as firing that was resolved meanwhile.
func TestSilenceThatLetsResolvesPassKnowsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSilenced(2)
		s.run(t, time.Second)
		one := s.add(t, silence.Silence{Channel: "alerts", FiringOnly: true, Message: "alerts/1"}, time.Hour)
		s.run(t, 10*time.Second)
		s.mute(t, "alerts", events.Firing, 1, 2)
		s.run(t, 10*time.Second)
		s.resolve(t, "alerts", 2)
		s.run(t, 10*time.Second)
		s.resolve(t, "alerts", 1)
		_, err := s.replicas[0].silencer.Expire(t.Context(), one.ID)
		require.NoError(t, err)
		s.run(t, 10*time.Second)
		for _, text := range s.to["alerts"].posted() {
			require.NotContains(t, text, "still fire")
		}
	})
}

// A replica that does not know a silence yet lets a resolve pass: its end reports nothing that the message shows as resolved.
func TestSilenceOfAResolvedMessageReportsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSilenced(1)
		s.run(t, time.Second)
		one := s.add(t, silence.Silence{Channel: "alerts", FiringOnly: true, Problem: true, Message: "alerts/1"}, time.Hour)
		s.run(t, 10*time.Second)
		s.mute(t, "alerts", events.Firing, 1)
		s.message = &store.PostedMessage{Events: []store.PostedEvent{{Fingerprint: "1", Resolved: 1}}}
		_, err := s.replicas[0].silencer.Expire(t.Context(), one.ID)
		require.NoError(t, err)
		s.run(t, 10*time.Second)
		require.Empty(t, s.to["alerts"].posted())
	})
}

// A silence of all channels is announced only where it has muted something, and not in a channel without notices.
func TestSilenceOfAllChannelsIsAnnouncedWhereItMutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSilenced(2)
		made := s.add(t, silence.Silence{}, 24*time.Hour)
		s.run(t, 10*time.Second)
		for _, to := range s.to {
			require.Empty(t, to.posted())
		}
		for _, r := range s.replicas {
			require.NoError(t, r.silencer.Refresh(t.Context()))
		}
		s.mute(t, "web", events.Firing, 1, 2)
		s.mute(t, "quiet", events.Firing, 1)
		s.run(t, 10*time.Second)
		_, err := s.replicas[1].silencer.Expire(t.Context(), made.ID)
		require.NoError(t, err)
		s.run(t, 10*time.Second)
		require.Empty(t, s.to["alerts"].posted())
		require.Empty(t, s.to["quiet"].posted())
		require.Equal(t, []string{"🔔 *A silence was ended early*, and 2 alerts still fire: category is disk"}, s.to["web"].posted())
	})
}

// What is announced is bounded: a silence that mutes in every channel has a document of bounded size.
func TestSilenceThatMutesEverywhereStaysBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSilenced(1)
		r := s.replicas[0]
		s.add(t, silence.Silence{}, 24*time.Hour)
		s.mute(t, "web", events.Firing, 1)
		all := make([]int, 100)
		for i := range all {
			all[i] = i
		}
		s.mute(t, "web", events.Firing, all...)
		s.run(t, 10*time.Second)
		_, err := r.silencer.Expire(t.Context(), r.known(t).ID)
		require.NoError(t, err)
		s.run(t, 10*time.Second)
		require.Equal(t, []string{"🔔 *A silence was ended early*, and at least 20 alerts still fire: category is disk"}, s.to["web"].posted())
		require.Contains(t, s.to["web"].below()[0], "101 events muted here")
	})
}

func (r *silencingReplica) known(t *testing.T) silence.Silence {
	t.Helper()
	_, all := r.silencer.Known()
	require.Len(t, all, 1)
	return all[0]
}
