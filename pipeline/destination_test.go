package pipeline_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
	"slackrelay/slackapp"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// checks are replicas that check destinations of a fake Slack. In their store, a minute takes 60 ms.
type checks struct {
	slack *fakeslack.Server
	data  *memory.Data
	app   *notifier.App
	log   *bytes.Buffer

	mu    sync.Mutex
	calls map[string]int // of Slack, by method
}

func startChecks(t *testing.T, conversations ...fakeslack.Conversation) *checks {
	t.Helper()
	slack, err := fakeslack.Start()
	require.NoError(t, err)
	t.Cleanup(func() { slack.Close() })
	for _, scope := range slackapp.Scopes() {
		slack.Scopes = append(slack.Scopes, scope.Name)
	}
	slack.Token, slack.Conversations = "xoxb-1", conversations
	c := &checks{slack: slack, log: &bytes.Buffer{}, calls: map[string]int{}, data: memory.NewData(memory.DataOptions{Speed: 1000})}
	c.count(nil)
	c.app = notifier.NewApp(notifier.AppOptions{Token: "xoxb-1", APIURL: slack.APIURL()})
	return c
}

// count counts the calls of Slack from now on, and lets a fault answer them.
func (c *checks) count(fault fakeslack.Fault) {
	c.mu.Lock()
	c.calls = map[string]int{}
	c.mu.Unlock()
	c.slack.Break(func(method, channel string) (fakeslack.Reply, bool) {
		c.mu.Lock()
		c.calls[method]++
		c.mu.Unlock()
		if fault == nil {
			return fakeslack.Reply{}, false
		}
		return fault(method, channel)
	})
}

func (c *checks) counted() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// replica returns another replica.
func (c *checks) replica(owner string) *pipeline.Destinations {
	shared := memory.New(c.data, memory.Options{Options: store.Options{Owner: owner}})
	return pipeline.NewDestinations(pipeline.DestinationsOptions{
		Documents: shared, Budget: shared, Logger: slog.New(slog.NewTextHandler(c.log, nil)),
	})
}

func (c *checks) target(name, slackChannel string) pipeline.Target {
	return pipeline.Target{Name: "channel " + name, Sender: c.app.Bot(slackChannel)}
}

// aMinute is longer than a minute of the store.
const aMinute = 70 * time.Millisecond

func TestABrokenDestinationIsKnownToAllReplicasUntilACheckSucceeds(t *testing.T) {
	t.Parallel()
	c := startChecks(t, fakeslack.Conversation{ID: "C01", Name: "one", IsMember: true},
		fakeslack.Conversation{ID: "C02", Name: "old", IsArchived: true})
	one, other := c.replica("one"), c.replica("other")
	good, bad := c.target("good", "#one"), c.target("bad", "C02")
	looks := one.Looks()
	looks(t.Context(), good, bad)
	for _, replica := range []*pipeline.Destinations{one, other} {
		require.Nil(t, replica.FaultOf(t.Context(), good))
		require.Equal(t, &pipeline.DestinationFault{Message: "#old is archived", Remedy: "unarchive it, or set another slack_channel"},
			replica.FaultOf(t.Context(), bad))
	}
	require.Equal(t, "C01", good.Sender.ID(), "its name was resolved")
	require.Equal(t, 1, strings.Count(c.log.String(), "destination cannot be posted to"), c.log)
	require.Contains(t, c.log.String(), `destination="channel bad" why="#old is archived" remedy="unarchive it, or set another slack_channel"`)

	c.count(nil)
	time.Sleep(aMinute)
	looks(t.Context(), good, bad)
	require.Equal(t, map[string]int{"auth.test": 1, "conversations.info": 1}, c.counted(), "the broken one is checked again each minute")
	require.Equal(t, 1, strings.Count(c.log.String(), "destination cannot be posted to"), "it is logged once")

	c.slack.Conversations[1].IsArchived, c.slack.Conversations[1].IsMember = false, true
	time.Sleep(aMinute)
	looks(t.Context(), good, bad)
	require.Nil(t, other.FaultOf(t.Context(), bad))
	require.Contains(t, c.log.String(), `msg="destination can be posted to again" destination="channel bad"`)
	c.count(nil)
	time.Sleep(aMinute)
	looks(t.Context(), good, bad)
	require.Empty(t, c.counted(), "nothing is left to check")
}

func TestARefusedTokenIsOneFaultAndEndsTheCheck(t *testing.T) {
	t.Parallel()
	c := startChecks(t)
	one := c.replica("one")
	var targets []pipeline.Target
	for n := range 50 {
		targets = append(targets, c.target(fmt.Sprint(n), fmt.Sprintf("C%02d", n)))
	}
	c.count(func(string, string) (fakeslack.Reply, bool) { return fakeslack.APIError("token_revoked"), true })
	looks := one.Looks()
	looks(t.Context(), targets...)
	require.Equal(t, map[string]int{"auth.test": 1}, c.counted())
	fault := one.FaultOf(t.Context(), targets[0])
	require.Equal(t, "it was revoked", fault.Message)
	require.Equal(t, fault, one.FaultOf(t.Context(), targets[49]))
	require.Equal(t, 1, strings.Count(c.log.String(), "level=ERROR"), c.log)
	require.Contains(t, c.log.String(), `msg="slack refuses the token; its channels wait" why="it was revoked"`)
	require.NotContains(t, c.log.String(), "xoxb")

	c.slack.Conversations = nil
	c.count(nil)
	time.Sleep(aMinute)
	looks(t.Context(), targets...)
	require.Nil(t, one.FaultOf(t.Context(), targets[0]))
	require.Contains(t, c.log.String(), "slack accepts the token again")
}

// Nor do replicas that start at the same time check the same destinations.
func TestOneReplicaChecksForAll(t *testing.T) {
	t.Parallel()
	c := startChecks(t, fakeslack.Conversation{ID: "C01", Name: "one", IsMember: true})
	c.count(nil)
	var all sync.WaitGroup
	for n := range 5 {
		looks := c.replica(fmt.Sprint(n)).Looks()
		all.Go(func() { looks(t.Context(), c.target("one", "#one")) })
	}
	all.Wait()
	require.Equal(t, map[string]int{"auth.test": 1, "conversations.list": 1}, c.counted())
	late := c.target("one", "#one")
	c.replica("late").Looks()(t.Context(), late)
	require.Equal(t, "C01", late.Sender.ID(), "it has the id from the others")
	require.Equal(t, map[string]int{"auth.test": 1, "conversations.list": 1}, c.counted())
}

func TestPublicChannelsAreJoinedOnceAndFewAtATime(t *testing.T) {
	t.Parallel()
	c := startChecks(t)
	var targets []pipeline.Target
	for n := range 30 {
		id := fmt.Sprintf("C%02d", n)
		c.slack.Conversations = append(c.slack.Conversations, fakeslack.Conversation{ID: id, Name: strings.ToLower(id)})
		targets = append(targets, c.target(id, id))
	}
	looks := c.replica("one").Looks()
	looks(t.Context(), targets...)
	require.Equal(t, 25, c.counted()["conversations.join"])
	looks(t.Context(), targets...)
	require.Equal(t, 30, c.counted()["conversations.join"])
	c.slack.Conversations[0].IsMember = false // somebody removed it
	time.Sleep(60 * aMinute)
	looks(t.Context(), targets...)
	require.Equal(t, 30, c.counted()["conversations.join"], "it stays away until a message needs it")
}

// A gateway that posts messages and answers nothing else makes no channel red, nor does a Slack that is down.
func TestOnlyWhatSlackSaysIsAFault(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]fakeslack.Reply{
		"a gateway": fakeslack.APIError("unknown_method"), "down": {Status: 503, Body: "down"}, "not Slack": {Status: 404, Body: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChecks(t)
			c.count(func(string, string) (fakeslack.Reply, bool) { return answer, true })
			one, target := c.replica("one"), c.target("one", "C01")
			one.Looks()(t.Context(), target)
			require.Nil(t, one.FaultOf(t.Context(), target))
			require.Empty(t, c.log)
		})
	}
}

func TestAFaultStaysKnownForAsLongAsChecksFindIt(t *testing.T) {
	t.Parallel()
	c := startChecks(t, fakeslack.Conversation{ID: "C02", Name: "old", IsArchived: true})
	c.data = memory.NewData(memory.DataOptions{Speed: 20_000}) // an hour takes 180 ms
	one, bad := c.replica("one"), c.target("bad", "C02")
	looks := one.Looks()
	for range 40 { // more than two hours
		looks(t.Context(), bad)
		require.NotNil(t, one.FaultOf(t.Context(), bad))
		time.Sleep(12 * time.Millisecond)
	}
	require.Equal(t, 1, strings.Count(c.log.String(), "destination cannot be posted to"), c.log)
}

func TestACheckEndsOnlyFaultsThatItCanSee(t *testing.T) {
	t.Parallel()
	c := startChecks(t, fakeslack.Conversation{ID: "C01", Name: "one", IsMember: true}, fakeslack.Conversation{ID: "C02", Name: "two"})
	one := c.replica("one")
	member, removed, person := c.target("member", "C01"), c.target("removed", "C02"), c.target("person", "U0123ABCD")
	looks := one.Looks()
	look := func() {
		time.Sleep(aMinute)
		looks(t.Context(), member, removed, person)
	}
	look()
	c.slack.Conversations[1].IsMember = false // it had joined, and somebody removed it
	one.Refuse(t.Context(), member, "restricted_action")
	one.Refuse(t.Context(), removed, "not_in_channel")
	one.Refuse(t.Context(), person, "channel_not_found")
	look()
	for _, target := range []pipeline.Target{member, removed, person} {
		require.NotNil(t, one.FaultOf(t.Context(), target), "%s: only a message can tell", target.Name)
	}
	c.slack.Conversations[1].IsMember = true
	look()
	require.Nil(t, one.FaultOf(t.Context(), removed), "it was invited")
}
