package action_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/action"
	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/silence"
	"slackrelay/store/memory"
)

// A message shows a mute only while it is muted, however the silence ended, so that it can be muted again.
func TestMuteThatEndedVanishesFromItsMessage(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *replica, passed *atomic.Int64){
		"by itself": func(_ *replica, passed *atomic.Int64) {
			passed.Store(int64(time.Hour + 2*action.EndEvery))
		},
		"by an operator elsewhere": func(r *replica, passed *atomic.Int64) {
			_, err := r.silencer.Expire(r.t.Context(), r.active()[0].ID)
			require.NoError(r.t, err)
			passed.Store(int64(2 * action.EndEvery))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var passed atomic.Int64
			silences := silence.NewMemory(func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
			s := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
			r := newReplica(t, s, silences, &logs{}, channelsOf(&destination{channel: "C1", token: "one", team: "T1"}))
			r.admit(event("1", "f", "disk", events.Firing))
			number := r.deliver()
			require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "1h")).Text, "Muted until")
			r.EndResolved(t.Context())
			require.NotNil(t, r.message(number).Muted, "it is muted")
			edit := r.message(number).LastEdit
			end(r, &passed)
			for range 2 {
				require.NoError(t, r.silencer.Refresh(t.Context()))
				r.EndResolved(t.Context())
			}
			require.Nil(t, r.message(number).Muted)
			require.GreaterOrEqual(t, r.message(number).LastEdit, edit)
			passed.Store(0)
			require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "4h")).Text, "Muted until")
		})
	}
}

// failing is a store of silences that takes none.
type failing struct {
	*silence.Memory
	err error
}

func (f failing) Create(context.Context, silence.Silence) (bool, error) { return false, f.err }

func TestMuteThatCannotBeIsNotShown(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	channels := channelsOf(&destination{channel: "C1", token: "one", team: "T1"})
	for name, row := range map[string]struct {
		err   error
		want  string
		shown bool
	}{
		"too many": {silence.ErrTooMany, "there are too many silences; expire some of them. Nothing was done.", false},
		"store":    {errors.New("dial tcp 10.1.2.3:6379: refused"), "The relay cannot reach its store. Nothing is certain", true},
	} {
		r := newReplica(t, s, failing{silence.NewMemory(nil), row.err}, &logs{}, channels)
		r.admit(event(name, name, "disk", events.Firing))
		number := r.deliver()
		require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionMute, number, "1h")).Text, row.want)
		require.Equal(t, row.shown, r.message(number).Muted != nil)
		answer := r.Command(t.Context(), command("UBOSS", "silence disk 1h"))
		require.NotContains(t, answer.Text, "10.1.2.3", "nobody in Slack needs to know")
	}
}

// A server that stands in for Slack may not say which workspace it is.
func TestClickIsRefusedWhereTheWorkspaceHasNoID(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	other := channelsOf(&destination{channel: "C2", token: "two", team: "T2"})
	other[0].Name = "other"
	channels := append(channelsOf(&destination{channel: "C1", token: "one"}), other...)
	r := newReplica(t, s, silence.NewMemory(nil), &logs{}, channels)
	r.admit(event("1", "f", "disk", events.Firing))
	number := r.deliver()
	require.Contains(t, r.Click(t.Context(), click("UBOSS", notifier.ActionAcknowledge, number, "")).Text, "belongs to another Slack channel")
	require.Nil(t, r.message(number).Acknowledged)
}
