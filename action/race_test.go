package action_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/silence"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// threeReplicas returns replicas that share a Redis and a log.
func threeReplicas(t *testing.T) (all []*replica) {
	t.Helper()
	client := redistest.Start(t).Client()
	out := &logs{}
	for i := range 3 {
		s := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Owner: fmt.Sprint(i)}})
		all = append(all, newReplica(t, s, silence.NewRedis(client), out, channelsOf(&destination{channel: "C1", token: "one", team: "T1"})))
	}
	return all
}

// raced has ten users click on every replica at once, twice each, and returns how often each answer was given.
func raced(t *testing.T, all []*replica, button string, number int64, arguments ...string) map[string]int {
	t.Helper()
	var mu sync.Mutex
	answers := map[string]int{}
	var wait sync.WaitGroup
	for user := range 10 {
		for i := range 2 * len(all) {
			wait.Go(func() {
				one := click(fmt.Sprint("UGROUP", user), button, number, arguments[user%len(arguments)])
				answer := all[i%len(all)].Click(t.Context(), one)
				mu.Lock()
				defer mu.Unlock()
				answers[answer.Text]++
			})
		}
	}
	wait.Wait()
	return answers
}

func TestTenUsersOnThreeReplicasHaveEachEffectOnce(t *testing.T) {
	t.Parallel()
	all := threeReplicas(t)
	r := all[0]
	r.admit(event("1", "f", "disk", events.Firing))
	number := r.deliver()

	require.Equal(t, 1, raced(t, all, notifier.ActionAcknowledge, number, "")["Acknowledged. Repeats of it stay quiet."])
	require.Equal(t, 1, r.logs.count("message acknowledged"))
	require.NotNil(t, r.message(number).Acknowledged)
	require.Equal(t, 1, raced(t, all, notifier.ActionUnacknowledge, number, "")["Nobody acknowledges it any more."])
	require.Nil(t, r.message(number).Acknowledged)

	raced(t, all, notifier.ActionMute, number, "1h", "4h", "resolved")
	require.Equal(t, 1, r.logs.count("message muted"))
	active := r.active()
	require.Len(t, active, 1)
	require.Equal(t, r.message(number).Muted.Silence, active[0].ID)
	require.Equal(t, r.message(number).Muted.Until == 0, active[0].UntilResolved, "the silence is that of the user who is noted")
	raced(t, all, notifier.ActionUnmute, number, "")
	require.Equal(t, 1, r.logs.count("message unmuted"))
	require.Empty(t, r.active())
	require.Nil(t, r.message(number).Muted)

	report, err := r.store.Report(t.Context(), r.channels[0].Scope())
	require.NoError(t, err)
	require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, report.Ledger)
	usage, err := store.UsageOf(t.Context(), r.store, r.channels[0].Scope(), r.channels[0].AllLevels()[:1])
	require.NoError(t, err)
	require.EqualValues(t, 1, usage[0].Used, "no click uses a slot")
}

// Whatever is clicked at once: a message is muted if and only if a silence is active, and it is that of the message.
func TestMessageIsMutedIfAndOnlyIfItsSilenceIsActive(t *testing.T) {
	t.Parallel()
	all := threeReplicas(t)
	all[0].admit(event("1", "f", "disk", events.Firing))
	number := all[0].deliver()
	for range 5 {
		var wait sync.WaitGroup
		for i := range 30 {
			button, argument := notifier.ActionMute, []string{"1h", "4h", "resolved"}[rand.IntN(3)]
			if rand.IntN(2) == 0 {
				button, argument = notifier.ActionUnmute, ""
			}
			wait.Go(func() { all[i%3].Click(t.Context(), click(fmt.Sprint("UGROUP", i), button, number, argument)) })
		}
		wait.Wait()
		active, muted := all[0].active(), all[0].message(number).Muted
		if muted == nil {
			require.Empty(t, active)
			continue
		}
		require.Len(t, active, 1)
		require.Equal(t, muted.Silence, active[0].ID)
	}
}

func TestDroppedEventIsPostedOnceWhoeverClicks(t *testing.T) {
	t.Parallel()
	all := threeReplicas(t)
	r := all[0]
	digest := r.withDigest()
	drops, err := r.store.Drops(t.Context(), r.channels[0].Scope(), "", 10)
	require.NoError(t, err)
	answers := raced(t, all, notifier.ActionPost, digest, drops[0].ID)
	require.Equal(t, map[string]int{"It is posted, past the limits.": 1, "It was posted already.": 59}, answers)
	require.Equal(t, 1, r.logs.count("dropped event sent again"))
	report, err := r.store.Report(t.Context(), r.channels[0].Scope())
	require.NoError(t, err)
	require.EqualValues(t, 1, report.Ledger.Forced)
	require.Zero(t, report.Ledger.Imbalance())
}

// withDigest drops events, and returns the number of the digest that counts them.
func (r *replica) withDigest() int64 {
	r.t.Helper()
	for i := range 14 {
		r.admit(event(fmt.Sprint(i), fmt.Sprint("f", i), "disk", events.Firing))
	}
	var digest int64
	require.Eventually(r.t, func() bool {
		digest = r.deliver()
		return digest > 0 && r.message(digest) != nil && r.message(digest).From > 0
	}, 10e9, 10e6)
	return digest
}
