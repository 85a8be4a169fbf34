package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var instancesBehaviours = []behaviour{
	{"InstanceIsMadeOnceAndListed", testInstanceIsMadeOnceAndListed},
	{"InstancesAreBoundedByTheirTemplate", testInstancesAreBoundedByTheirTemplate},
	{"RacedInstancesStayWithinTheBound", testRacedInstancesStayWithinTheBound},
	{"InstanceKeepsItsTemplate", testInstanceKeepsItsTemplate},
	{"OnlyIdleInstancesAreRemoved", testOnlyIdleInstancesAreRemoved},
	{"ForgottenChannelBeginsAtZero", testForgottenChannelBeginsAtZero},
	{"ChannelWithSomethingToDoOrToShowIsNotForgotten", testNeededChannelIsNotForgotten},
}

// teamTemplate is the name of the template of the instances of tests.
const teamTemplate = "team-{{team}}"

func teamOf(value string) store.Instance {
	return store.Instance{Name: "team-" + value, Template: teamTemplate, Value: value}
}

func (b Fixture) use(t *testing.T, instance store.Instance, most int64) store.Instance {
	t.Helper()
	made, err := b.C.UseInstance(t.Context(), instance, most)
	require.NoError(t, err)
	return made
}

// instances reads all instances, as a caller does that knows a revision.
func (b Fixture) instances(t *testing.T, known int64) (int64, []store.Instance) {
	t.Helper()
	revision, all, err := b.C.ChangedInstances(t.Context(), known)
	require.NoError(t, err)
	return revision, all
}

func testInstanceIsMadeOnceAndListed(t *testing.T, start Start) {
	b := start(t)
	none, all := b.instances(t, 0)
	require.Zero(t, none)
	require.Empty(t, all)

	require.Equal(t, teamOf("b"), b.use(t, teamOf("b"), 10))
	first, all := b.instances(t, none)
	require.Positive(t, first)
	require.Equal(t, []store.Instance{teamOf("b")}, all)

	require.Equal(t, teamOf("b"), b.use(t, teamOf("b"), 10))
	same, all := b.instances(t, first)
	require.Equal(t, first, same, "a further use changes nothing")
	require.Empty(t, all)

	b.use(t, teamOf("a"), 10)
	second, all := b.instances(t, first)
	require.Greater(t, second, first)
	require.Equal(t, []store.Instance{teamOf("a"), teamOf("b")}, all, "ordered by name")
}

func testInstancesAreBoundedByTheirTemplate(t *testing.T, start Start) {
	b := start(t)
	for _, value := range []string{"a", "b"} {
		require.NotZero(t, b.use(t, teamOf(value), 2))
	}
	require.Zero(t, b.use(t, teamOf("c"), 2), "refused")
	require.Equal(t, teamOf("a"), b.use(t, teamOf("a"), 2), "those that exist stay")
	other := store.Instance{Name: "env-c", Template: "env-{{env}}", Value: "c"}
	require.Equal(t, other, b.use(t, other, 1), "each template has a bound of its own")
	require.Equal(t, teamOf("d"), b.use(t, teamOf("d"), 0), "0 = no bound")
	_, all := b.instances(t, 0)
	require.Len(t, all, 4)
}

func testRacedInstancesStayWithinTheBound(t *testing.T, start Start) {
	b := start(t)
	var made atomic.Int64
	var racing sync.WaitGroup
	for _, sender := range []store.Store{b.A, b.B, b.C} {
		racing.Go(func() {
			for i := range 30 {
				instance, err := sender.UseInstance(t.Context(), teamOf(fmt.Sprint(i)), 20)
				if err == nil && instance != (store.Instance{}) {
					made.Add(1)
				}
			}
		})
	}
	racing.Wait()
	_, all := b.instances(t, 0)
	require.Len(t, all, 20)
	require.Equal(t, int64(60), made.Load(), "all senders have the same ones")
}

func testInstanceKeepsItsTemplate(t *testing.T, start Start) {
	b := start(t)
	b.use(t, teamOf("a-pager"), 10)
	b.Advance(time.Hour)
	pager := store.Instance{Name: "team-a-pager", Template: "team-{{team}}-pager", Value: "a"}
	require.Equal(t, teamOf("a-pager"), b.use(t, pager, 10), "the caller learns whose it is")
	idle, err := b.C.IdleInstances(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []store.IdleInstance{{Name: "team-a-pager", Idle: time.Hour}}, idle, "that was no use of it")
}

func testOnlyIdleInstancesAreRemoved(t *testing.T, start Start) {
	b := start(t)
	b.use(t, teamOf("a"), 2)
	b.Advance(time.Hour)
	b.use(t, teamOf("b"), 2)
	b.Advance(time.Hour)
	idle, err := b.C.IdleInstances(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []store.IdleInstance{{Name: "team-a", Idle: 2 * time.Hour}, {Name: "team-b", Idle: time.Hour}}, idle)
	before, _ := b.instances(t, 0)

	removed, err := b.C.RemoveInstance(t.Context(), "team-b", 2*time.Hour)
	require.NoError(t, err)
	require.False(t, removed, "it was used within two hours")
	removed, err = b.C.RemoveInstance(t.Context(), "team-a", 2*time.Hour)
	require.NoError(t, err)
	require.True(t, removed)
	removed, err = b.C.RemoveInstance(t.Context(), "team-a", 0)
	require.NoError(t, err)
	require.False(t, removed, "there is none any more")

	after, all := b.instances(t, before)
	require.Greater(t, after, before)
	require.Equal(t, []store.Instance{teamOf("b")}, all)
	require.NotZero(t, b.use(t, teamOf("c"), 2), "its place is free")
}

func (b Fixture) forget(t *testing.T) bool {
	t.Helper()
	forgotten, err := b.C.ForgetChannel(t.Context(), Scope)
	require.NoError(t, err)
	return forgotten
}

func testForgottenChannelBeginsAtZero(t *testing.T, start Start) {
	b := start(t)
	require.True(t, b.forget(t), "there never was anything")
	require.NoError(t, b.C.CountMuted(t.Context(), Scope, 3))
	b.Fill(t, 1)
	require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{}))
	Claim(t, b.A, Unpaced) // nothing is left, and the due index knows
	require.False(t, b.forget(t), "it had events within the hour")
	b.Advance(3 * time.Hour)
	require.True(t, b.forget(t))
	report, err := b.C.Report(t.Context(), Scope)
	require.NoError(t, err)
	require.Equal(t, store.Ledger{}, report.Ledger)
}

func testNeededChannelIsNotForgotten(t *testing.T, start Start) {
	b := start(t)
	require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindNotice, []byte("{}")))
	b.Advance(3 * time.Hour)
	require.False(t, b.forget(t), "a notice waits")
	require.NoError(t, b.A.Bury(t.Context(), Scope, ClaimEntry(t, b.A), store.DeadReason{Reason: "test"}))
	b.Advance(3 * time.Hour)
	require.False(t, b.forget(t), "there is a dead letter")
	letters, err := b.A.DeadLetters(t.Context(), Scope, "", 1)
	require.NoError(t, err)
	_, err = b.A.DeleteDead(t.Context(), Scope, letters[0].ID)
	require.NoError(t, err)
	require.NoError(t, b.A.Release(t.Context(), Scope))
	Claim(t, b.A, Unpaced) // it finds nothing, and notes it in the due index
	require.True(t, b.forget(t))
}
