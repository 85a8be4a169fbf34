package simulation

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/notifier"
)

// daySetting is the channel of docs/day.yaml.
func daySetting(t *testing.T) Setting {
	t.Helper()
	loaded, err := configs.Load(configs.Flags{File: "../docs/day.yaml"})
	require.NoError(t, err)
	cfg := loaded.Config
	return Setting{
		Channel: cfg.PipelineChannels(nil)[0], Edits: true,
		Inhibitions: cfg.CompiledInhibitions(), Heartbeats: cfg.SenderHeartbeats(),
	}
}

// fired is an alert of a trace that fires, up to its resolve.
type fired struct {
	Event
	until time.Duration
}

// firedIn returns what fired in a trace for longer than a time, without the watchdog.
func firedIn(trace Trace, longer time.Duration) []fired {
	open := map[string]fired{}
	var all []fired
	for i := range trace {
		e := &trace[i]
		one, isOpen := open[e.Fingerprint]
		switch {
		case e.Category == "watchdog":
		case e.Status == events.Firing && !isOpen:
			open[e.Fingerprint] = fired{*e, trace.Length()}
		case e.Status == events.Resolved && isOpen:
			delete(open, e.Fingerprint)
			one.until = e.At
			if one.until-one.At > longer {
				all = append(all, one)
			}
		}
	}
	for _, one := range open {
		if one.until-one.At > longer {
			all = append(all, one)
		}
	}
	return all
}

// said is what Slack shows at a time.
type said struct {
	at   time.Duration
	text string
}

// between reports whether something with a text was said in a time.
func between(all []said, text string, from, until time.Duration) bool {
	for _, one := range all {
		if one.at >= from && one.at <= until && strings.Contains(one.text, text) {
			return true
		}
	}
	return false
}

// slackPage is a destination that keeps what it shows.
type slackPage struct {
	clock func() time.Duration
	all   []said
}

func (s *slackPage) Send(_ context.Context, m notifier.Message) (notifier.Receipt, error) {
	s.all = append(s.all, said{s.clock(), m.Text + "\n" + m.Fallback})
	return notifier.Receipt{Channel: "C0", TS: strconv.Itoa(len(s.all))}, nil
}

func (s *slackPage) Edit(_ context.Context, _ notifier.Receipt, m notifier.Message) error {
	s.all = append(s.all, said{s.clock(), m.Text + "\n" + m.Fallback})
	return nil
}

// What Slack shows is looked at here, and not what the simulation counts.
func TestDayWithAllFeaturesOnSaysEveryProblemThatLasts(t *testing.T) {
	t.Parallel()
	n, days := dayLeast, uint64(1)
	if os.Getenv("SOAK") != "" { //nolint:forbidigo // how long to test is not a setting of the relay
		n, days = 10_000, 10
	}
	for seed := range days {
		trace, err := Generate("day", n, seed+1)
		require.NoError(t, err)
		setting := daySetting(t)
		var r *relay
		page := &slackPage{clock: func() time.Duration { return r.now.Sub(Start) }}
		setting.slack = page
		tally := newTally(&setting, trace)
		r = newRelay(&setting, tally)
		for i := 0; i < len(trace); {
			webhook := trace.webhook(i)
			require.NoError(t, r.admit(t.Context(), trace[i:i+webhook], i))
			i += webhook
		}
		require.NoError(t, r.finish(t.Context()))
		hold := setting.Channel.Hold
		all := firedIn(trace, hold)
		for i := range all {
			require.True(t, page.says(&all[i], hold), "day %d: nobody heard of %+v", seed, all[i])
		}
		result := tally.result()
		require.Equal(t, int64(len(all)), result.Problems)
		require.Zero(t, result.ProblemsUnheard)
		if n >= 10_000 {
			require.LessOrEqual(t, result.Messages, result.Received/20)
		}
		require.True(t, between(page.all, "Heartbeat watchdog is missing", lostAt, lostAt+lostFor))
		require.True(t, between(page.all, "*Resolved: Heartbeat watchdog is missing", lostAt+lostFor, lostAt+lostFor+time.Minute))
	}
}

// says reports whether a problem is said as soon as it has been held: by itself, in its group, by its cluster, or because its alert
// flaps.
func (s *slackPage) says(one *fired, hold time.Duration) bool {
	const soon = 10 * time.Second
	from, until := one.At+hold, one.At+hold+soon
	cluster := one.Labels["cluster"]
	switch {
	case one.Group != "":
		return between(s.all, one.Group+"-pod-", from, until) && between(s.all, "20 firing", from, until)
	case cluster != "" && cluster != one.Fingerprint:
		return between(s.all, "*"+cluster+"*", one.At-5*time.Minute, until) // the cluster went down before
	case between(s.all, one.Fingerprint, from, until):
		return true
	}
	flaps := false
	for _, text := range s.all {
		if text.at <= one.At && strings.Contains(text.text, one.Fingerprint) {
			flaps = (flaps || strings.Contains(text.text, "flapping: ")) && !strings.Contains(text.text, "; stable for ")
		}
	}
	return flaps
}
