package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
)

// chaos is three relays, a Redis and a Slack that all fail while messages are in flight.
type chaos struct {
	*testing.T
	slack    *fakeslack.Server
	redis    *redistest.Server
	env      []string
	channels []string
	each     int

	mu       sync.Mutex
	replicas []*process
	ended    []*process // killed ones, for their logs
}

// faults are random faults of Slack.
func faults(_, _ string) (fakeslack.Reply, bool) {
	switch n := rand.N(100); {
	case n < 4:
		return fakeslack.Reply{Status: http.StatusTooManyRequests, RetryAfter: "1"}, true
	case n < 8:
		return fakeslack.Reply{Status: http.StatusInternalServerError, Body: "oops"}, true
	case n < 11:
		return fakeslack.Reply{Cut: true}, true
	case n < 14:
		return fakeslack.Reply{Cut: true, Posted: true}, true
	case n < 16: // it appears later than the answer that never comes, but before it is looked up
		return fakeslack.Reply{Cut: true, Posted: true, Late: 200 * time.Millisecond}, true
	case n < 20:
		return fakeslack.Reply{Delay: rand.N(200 * time.Millisecond)}, true
	default:
		return fakeslack.Reply{}, false
	}
}

// unposted are random faults of lookups and edits, which post nothing.
func unposted(method, channel string) (fakeslack.Reply, bool) {
	reply, ok := faults(method, channel)
	if method != "chat.postMessage" {
		reply.Posted, reply.Late = false, 0
	}
	return reply, ok
}

func newChaos(t *testing.T, channels, each int) *chaos {
	t.Helper()
	c := &chaos{T: t, slack: startSlack(t), redis: redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always"), each: each}
	c.slack.Break(unposted)
	for i := range channels {
		c.channels = append(c.channels, fmt.Sprintf("c%02d", i))
	}
	c.env = []string{
		"RELAY_REDIS_URL=" + c.redis.URL, "RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL=" + c.slack.APIURL(),
		"RELAY_CHANNELS=" + strings.Join(c.channels, ","), "RELAY_SLACK_SETTLE=400ms", "RELAY_SLACK_TIMEOUT=500ms", "RELAY_LEASE=1500ms",
	}
	for _, name := range c.channels {
		prefix := "RELAY_CHANNEL_" + strings.ToUpper(name) + "_"
		c.env = append(c.env, prefix+"SLACK_CHANNEL=C"+strings.ToUpper(name), prefix+"PACE=1ms", prefix+"BURST=10", prefix+"ON_REDIS_DOWN=closed",
			prefix+"GLOBAL_LIMIT=100000", prefix+"CATEGORY_LIMIT=100000", prefix+"DIGEST=false")
	}
	for range 3 {
		c.replicas = append(c.replicas, startRelay(t, c.env...))
	}
	return c
}

// post posts until every message is admitted, in order within its channel, whatever fails meanwhile.
func (c *chaos) post(channel string) {
	sender := &http.Client{Timeout: 2 * time.Second}
	defer sender.CloseIdleConnections()
	for i := range c.each {
		body := fmt.Sprintf(`{"id":"%s-%04d","title":"%04d"}`, channel, i, i)
		for try := i; ; try++ {
			c.mu.Lock()
			relay := c.replicas[try%len(c.replicas)]
			c.mu.Unlock()
			response, err := sender.Post(relay.public+"/hooks/"+channel, "application/json", strings.NewReader(body))
			if err == nil {
				response.Body.Close()
				if response.StatusCode == http.StatusAccepted {
					break
				}
			}
			<-time.After(20 * time.Millisecond) // as a sender that retries
		}
	}
}

// replace kills a replica and starts another.
func (c *chaos) replace(i int) {
	fresh := startRelay(c.T, c.env...)
	c.mu.Lock()
	old := c.replicas[i]
	c.replicas[i] = fresh
	c.ended = append(c.ended, old)
	c.mu.Unlock()
	old.kill()
}

func (c *chaos) pause(i int, d time.Duration) {
	relay := c.replicas[i]
	relay.signal(syscall.SIGSTOP)
	<-time.After(d)
	relay.signal(syscall.SIGCONT)
}

func (c *chaos) restartRedis() {
	c.redis.Kill()
	<-time.After(rand.N(500 * time.Millisecond))
	c.redis.Up()
}

var number = regexp.MustCompile(`\d{4}`)

// outcome checks that nothing was lost and that the order was kept, and returns how many messages were posted twice.
func (c *chaos) outcome() (twice int) {
	c.Helper()
	posts := map[string][]string{}
	for _, post := range c.slack.Posts() {
		posts[post.Channel] = append(posts[post.Channel], number.FindString(post.Text))
	}
	for _, name := range c.channels {
		got := posts["C"+strings.ToUpper(name)]
		var order []string
		for _, title := range got {
			if slices.Contains(order, title) {
				twice++
				continue
			}
			order = append(order, title)
		}
		require.Len(c, order, c.each, "%s: nothing is lost", name)
		require.IsIncreasing(c, order, "%s: the order is kept", name)
	}
	return twice
}

// drain waits until nothing is pending anywhere, and checks the ledgers.
func (c *chaos) drain() {
	c.Helper()
	relay := c.replicas[0]
	require.Eventually(c, func() bool {
		status, answer := request(c, http.MethodGet, relay.ops+"/api/v1/channels", "", nil)
		var all struct{ Channels []pipeline.ChannelStatus }
		if status != http.StatusOK || json.Unmarshal(answer, &all) != nil {
			return false
		}
		return !slices.ContainsFunc(all.Channels, func(ch pipeline.ChannelStatus) bool {
			return ch.Ledger.Pending > 0 || ch.Ledger.Admitted < int64(c.each)
		})
	}, 5*time.Minute, 100*time.Millisecond)
	for _, name := range c.channels {
		ledger := relay.status(c, name).Ledger
		require.Zero(c, ledger.Imbalance())
		require.Equal(c, int64(c.each), ledger.Admitted, "%+v", ledger)
		require.Equal(c, int64(c.each), ledger.Delivered, "%+v", ledger)
	}
}

// Relays are killed, stopped and started again, Redis restarts, and Slack fails in every known way. A message is posted twice
// only where a process was stopped in its last step.
func TestChaosLosesNothingAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	channels, each, rounds := 5, 40, 4
	if soak, _ := strconv.Atoi(os.Getenv("SOAK")); soak > 0 { //nolint:forbidigo // how long to test is not a setting of the relay
		channels, each, rounds = 20, 100, 12
	}
	for name, stops := range map[string]bool{"killed and restarted": false, "stopped too": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, channels, each)
			var posting sync.WaitGroup
			for _, channel := range c.channels {
				posting.Go(func() { c.post(channel) })
			}
			stopped := 0
			for round := range rounds {
				switch i := rand.N(3); {
				case round%4 == 3:
					c.restartRedis()
				case stops && round%2 == 0:
					stopped++
					c.pause(i, 2*time.Second)
				default:
					c.replace(i)
				}
			}
			posting.Wait()
			c.drain()
			twice := c.outcome()
			t.Logf("%d messages in %d channels, %d rounds, %d requests to Slack: 0 lost, %d twice", channels*each, channels, rounds,
				c.slack.Requests(), twice)
			if !stops {
				require.Zero(t, twice, "what may have been posted is looked up")
				return
			}
			explained := 0
			for _, relay := range append(c.ended, c.replicas...) {
				explained += strings.Count(relay.output.String(), "posted message could not be acknowledged; it may be posted twice")
			}
			require.LessOrEqual(t, twice, explained, "each is counted and explained")
			require.LessOrEqual(t, twice, stopped*channels, "a stopped process has one message of a channel in flight")
		})
	}
}

func TestAWaitingChannelDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := []string{"RELAY_REDIS_URL=" + redis.URL, "RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL=" + slack.APIURL()}
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("c%02d", i))
		prefix := "RELAY_CHANNEL_" + strings.ToUpper(names[i]) + "_"
		env = append(env, prefix+"SLACK_CHANNEL=C"+strings.ToUpper(names[i]), prefix+"PACE=1ms", prefix+"BURST=100", prefix+"CATEGORY_LIMIT=100")
	}
	relay := startRelay(t, append(env, "RELAY_CHANNELS="+strings.Join(names, ","))...)
	median := func() time.Duration {
		var durations []time.Duration
		for i := range 10 {
			for _, name := range names[1:] {
				before, posts := time.Now(), len(slack.Posts())
				relay.post(t, name, event{Title: fmt.Sprint(i)})
				require.Eventually(t, func() bool { return len(slack.Posts()) > posts }, 10*time.Second, 200*time.Microsecond)
				durations = append(durations, time.Since(before))
			}
		}
		slices.Sort(durations)
		return durations[len(durations)/2]
	}
	calm := median()
	slack.Script("CC00", fakeslack.Reply{Status: http.StatusTooManyRequests, RetryAfter: "3600"})
	relay.post(t, "c00", []event{{Title: "waits"}, {Title: "waits too"}})
	require.Eventually(t, func() bool { return relay.status(t, "c00").State.Reason == "rate_limited" }, 10*time.Second, 10*time.Millisecond)
	waiting := median()
	require.Equal(t, int64(2), relay.status(t, "c00").Ledger.Pending)
	t.Logf("median from webhook to Slack in the other 19 channels: %s before, %s while one waits", calm, waiting)
	require.Less(t, waiting, 5*calm+50*time.Millisecond)
}
