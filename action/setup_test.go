package action_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/action"
	"slackrelay/events"
	"slackrelay/interaction"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/silence"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// destination is a Slack channel that takes nothing by itself.
type destination struct {
	notifier.Editor
	channel, token, team string
	groupErr             error
}

func (d *destination) Workspace() string                      { return d.token }
func (d *destination) ChannelID() string                      { return d.channel }
func (d *destination) TeamID(context.Context) (string, error) { return d.team, nil }
func (d *destination) InGroup(_ context.Context, user, group string) (bool, error) {
	return group == "SOPS" && strings.HasPrefix(user, "UGROUP"), d.groupErr
}

// logs collects the audit log.
type logs struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// count returns how many lines say something.
func (l *logs) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), what)
}

// replica is a replica of a relay whose channel alerts posts to the Slack channel C1.
type replica struct {
	*action.Handler
	t        *testing.T
	store    store.Store
	intake   *pipeline.Intake
	silencer *silence.Silencer
	channels []pipeline.Channel
	logs     *logs
}

func channelsOf(sender notifier.Sender) []pipeline.Channel {
	tier := func(name string, limit int64) ratelimit.LevelSpec {
		return ratelimit.LevelSpec{Name: name, Windows: []ratelimit.Window{{Limit: limit, Per: time.Hour}}}
	}
	return []pipeline.Channel{{
		Name: "alerts", Tiers: []ratelimit.LevelSpec{tier(ratelimit.LevelChannel, 20), tier(ratelimit.LevelCategory, 2)}, Sender: sender,
		Handling:  &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesEdit, Repeats: true, Digest: true, KeepDrops: 1000},
		Digest:    store.DigestTerms{Interval: time.Hour, EditEvery: time.Millisecond, Minimum: 1},
		Pace:      store.Pace{Burst: 1},
		Bundle:    pipeline.BundleAuto,
		Operators: []string{"UBOSS", "SOPS"},
	}}
}

func newReplica(t *testing.T, s store.Store, silences silence.Store, out *logs, channels []pipeline.Channel) *replica {
	t.Helper()
	r := &replica{t: t, store: s, silencer: silence.New(silence.Options{Store: silences}), channels: channels, logs: out}
	r.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: s, Channels: channels, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {}, Outbox: s,
		Silences: r.silencer,
	})
	archive := &pipeline.Archive{Limiter: s, Outbox: s, Problems: s, Intake: r.intake, Channels: channels}
	r.Handler = action.NewHandler(action.Options{
		Messages: s, Archive: archive, Status: pipeline.NewStatusReader(s, channels, nil, s), Silences: r.silencer, Wake: func(string) {},
		Logger: slog.New(slog.NewTextHandler(out, nil)),
	})
	return r
}

// alone returns a single replica on memory.
func alone(t *testing.T) *replica {
	t.Helper()
	s := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	return newReplica(t, s, silence.NewMemory(nil), &logs{}, channelsOf(&destination{channel: "C1", token: "one", team: "T1"}))
}

func event(id, fingerprint, category string, status events.Status) events.Event {
	return events.Event{
		ID: id, Source: "generic", Category: category, Severity: events.Error, Status: status, Title: "title of " + id, Fingerprint: fingerprint,
	}
}

// admit admits events as one webhook.
func (r *replica) admit(all ...events.Event) pipeline.Receipt {
	r.t.Helper()
	receipt, err := r.intake.Admit(r.t.Context(), pipeline.Arrival{Channel: "alerts", Sender: "default", Events: all})
	require.NoError(r.t, err)
	return receipt
}

// deliver takes what is queued to Slack, and returns the number of the last post.
func (r *replica) deliver() (number int64) {
	r.t.Helper()
	scope := r.channels[0].Scope()
	for {
		claim, err := r.store.Claim(r.t.Context(), scope, store.Terms{Pace: store.Pace{Burst: 100}, Digest: r.channels[0].Digest}, false)
		require.NoError(r.t, err)
		switch claim.State {
		case store.DigestDue:
			require.NoError(r.t, r.store.Digest(r.t.Context(), scope, r.channels[0].Digest))
			continue
		case store.Claimed:
		default:
			require.NoError(r.t, r.store.Release(r.t.Context(), scope))
			return number
		}
		if claim.Entry.Kind != store.KindEdit && claim.Entry.Kind != store.KindDigestEdit {
			number = claim.Entry.Number
		}
		require.NoError(r.t, r.store.Ack(r.t.Context(), scope, claim.Entry, store.Receipt{Channel: "C1", TS: ts(number)}))
	}
}

func ts(number int64) string { return time.Unix(number, 0).UTC().Format("1504") + "." + "000100" }

// click returns a click on a message.
func click(user, button string, number int64, argument string) interaction.Click {
	value := notifier.Reference{Channel: "alerts", Number: number, Argument: argument}
	return interaction.Click{
		Place:  interaction.Place{Workspace: "T1", Channel: "C1", Message: ts(number), User: interaction.User{ID: user, Name: "name-" + user}},
		Action: button, Value: value.String(),
	}
}

func command(user, text string) interaction.Command {
	return interaction.Command{
		Place: interaction.Place{Workspace: "T1", Channel: "C1", User: interaction.User{ID: user, Name: "name-" + user}}, Text: text,
	}
}

func (r *replica) message(number int64) *store.PostedMessage {
	r.t.Helper()
	message, err := r.store.PostedMessage(r.t.Context(), r.channels[0].Scope(), number)
	require.NoError(r.t, err)
	return message
}

// active returns the silences that mute something now.
func (r *replica) active() []silence.Listed {
	r.t.Helper()
	all, err := r.silencer.List(r.t.Context())
	require.NoError(r.t, err)
	return slices.DeleteFunc(all, func(one silence.Listed) bool { return one.State != silence.Active })
}
