package test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// The memory of a relay in a small container, and of its Redis: what the chart gives them.
const (
	relayMemory = 256 << 20
	heapLimit   = "GOMEMLIMIT=200MiB"
	redisMemory = 256 << 20
	blockedFor  = 100 * time.Millisecond
	blockedMost = 500 * time.Millisecond // where the machine is busy with other tests
)

const attackedConfig = `
channels:
- name: attacked
  ingress_token: tok
- name: signed
  auth: [{name: github, kind: github, secret: key}]
- name: other
  ingress_token: other
  global_limit: 1000000
  category_limit: 1000000
`

// attack is a relay that is attacked while webhooks are posted to another channel of it.
type attack struct {
	t       *testing.T
	relay   *process
	redis   *redis.Client
	probes  atomic.Int64
	failed  atomic.Int64
	slowest atomic.Int64 // nanoseconds
}

// newAttack starts a relay on a real Redis; ATTACK_BINARY is another program to measure.
func newAttack(t *testing.T) *attack {
	t.Helper()
	server := redistest.Start(t, "--maxmemory", strconv.Itoa(redisMemory), "--maxmemory-policy", "noeviction",
		"--slowlog-log-slower-than", strconv.FormatInt(blockedFor.Microseconds(), 10), "--slowlog-max-len", "100000")
	file := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(file, []byte(attackedConfig), 0o600))
	a := &attack{t: t, redis: server.Client()}
	path := cmp.Or(os.Getenv("ATTACK_BINARY"), program()) //nolint:forbidigo // another program to measure
	a.relay = startProgram(t, path, "RELAY_CONFIG="+file, "RELAY_REDIS_URL="+server.URL, heapLimit, "RELAY_LOG_LEVEL=info",
		"RELAY_REDIS_TIMEOUT=2s") // the machine is busy with the attack itself
	ctx, stop := context.WithCancel(t.Context())
	var probing sync.WaitGroup
	probing.Go(func() { a.probe(ctx) })
	t.Cleanup(func() {
		stop()
		probing.Wait()
	})
	return a
}

// from is a client whose connections come from one address of this machine.
func from(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 256}}
}

// probe posts webhooks to the other channel, as one of its senders would.
func (a *attack) probe(ctx context.Context) {
	sender := from("127.0.0.9")
	defer sender.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		begin := time.Now()
		status, answer := a.post(ctx, sender, "/hooks/other", "other", fmt.Appendf(nil, `{"id":"p%d","title":"probe"}`, n))
		if ctx.Err() != nil {
			return
		}
		a.probes.Add(1)
		a.slowest.Store(max(a.slowest.Load(), int64(time.Since(begin))))
		if status != http.StatusAccepted || !strings.Contains(answer, `"durable":true`) {
			a.failed.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (a *attack) post(ctx context.Context, sender *http.Client, path, token string, body []byte) (status int, answer string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.relay.public+path, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := sender.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// flood posts n bodies from atOnce senders, and returns how often each status was answered.
func (a *attack) flood(address, path, token string, n, atOnce int, body func(i int) []byte) map[int]int {
	sender := from(address)
	defer sender.CloseIdleConnections()
	var mu sync.Mutex
	statuses := map[int]int{}
	var senders sync.WaitGroup
	var next atomic.Int64
	for range atOnce {
		senders.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				status, _ := a.post(a.t.Context(), sender, path, token, body(i))
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	return statuses
}

// stall sends n bodies of 1 MB without their last byte, and keeps the connections open until release.
func (a *attack) stall(address, path, token string, n int) (release func()) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 5 * time.Second}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"X-Hub-Signature-256: sha256=00\r\nContent-Length: 1000000\r\n\r\n", path, token)
	begun := append([]byte(head), bytes.Repeat([]byte{' '}, 999_999)...)
	connections := make([]net.Conn, n)
	var senders sync.WaitGroup
	for i := range n {
		senders.Go(func() {
			connection, err := dialer.DialContext(a.t.Context(), "tcp", strings.TrimPrefix(a.relay.public, "http://"))
			if err != nil {
				return // it may refuse connections
			}
			connections[i] = connection
			connection.SetDeadline(time.Now().Add(10 * time.Second))
			connection.Write(begun) // a refused sender is cut off
		})
	}
	senders.Wait()
	return func() {
		for _, connection := range connections {
			if connection != nil {
				connection.Close()
			}
		}
	}
}

// slackShaped is a message of 1 MB in Slack's own format.
func slackShaped(i int) []byte {
	block := `{"type":"section","text":{"type":"mrkdwn","text":"` + strings.Repeat("x", 2900) + `"}}`
	return []byte(fmt.Sprintf(`{"text":"Disk full %d","blocks":[`, i) + strings.Repeat(block+",", 334) + block + "]}")
}

// manyKeys is an object of 1 MB that consists of names.
func manyKeys(int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"text":"x"`)
	for i := range 105_000 {
		fmt.Fprintf(&b, `,"%x":0`, i+1<<16)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// manyAlerts is a webhook of Alertmanager of 0.9 MB.
func manyAlerts(n int) []byte {
	alerts := make([]string, 990)
	for i := range alerts {
		alerts[i] = fmt.Sprintf(`{"status":"firing","labels":{"alertname":"Disk full","severity":"critical","instance":"node-%d-%d"},`+
			`"annotations":{"description":%q},"startsAt":"2026-11-20T10:00:00Z"}`, n, i, strings.Repeat("d", 700))
	}
	return []byte(`{"version":"4","receiver":"relay","status":"firing","commonLabels":{"job":"node"},"alerts":[` +
		strings.Join(alerts, ",") + `]}`)
}

// peak is the largest resident memory of the relay, in bytes.
func (a *attack) peak() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.relay.cmd.Process.Pid))
	require.NoError(a.t, err)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(a.t, err)
	return kilobytes << 10
}

// redisPeak is the most memory that Redis used for its data.
func (a *attack) redisPeak() int {
	_, after, _ := strings.Cut(a.redis.Info(a.t.Context(), "memory").Val(), "used_memory_peak:")
	bytes, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(a.t, err)
	return bytes
}

// blocked is how often a call blocked Redis for too long, the longest time, and the sum.
func (a *attack) blocked() (often int, worst, total time.Duration) {
	for _, call := range a.redis.SlowLogGet(a.t.Context(), -1).Val() {
		often, worst, total = often+1, max(worst, call.Duration), total+call.Duration
	}
	return often, worst, total
}

// report logs what was measured so far.
func (a *attack) report(attack string) {
	often, worst, total := a.blocked()
	a.t.Logf("%-34s relay peak %4d MB, redis peak %3d MB, blocked %2d times (worst %v, in all %v), "+
		"probes %d of %d failed (slowest %v), folds failed %d", attack,
		a.peak()>>20, a.redisPeak()>>20, often, worst.Round(time.Millisecond), total.Round(time.Millisecond), a.failed.Load(), a.probes.Load(),
		time.Duration(a.slowest.Load()).Round(time.Millisecond), strings.Count(a.relay.output.String(), "drops are not counted in Redis yet"))
}

// Neither senders without a credential nor one with a credential can fill the memory of the relay or of Redis, or delay the
// senders of another channel. With SOAK set, the attacks last longer.
func TestSendersCannotHurtOtherChannels(t *testing.T) {
	messages, objects, refused := 60, 48, 500
	if os.Getenv("SOAK") != "" { //nolint:forbidigo // by make soak
		messages, objects, refused = 480, 128, 3000
	}
	a := newAttack(t)
	a.report("at rest")
	a.flood("127.0.0.2", "/services/attacked/tok", "", messages, 8, slackShaped)
	a.report("1 MB messages")
	a.flood("127.0.0.3", "/api/chat.postMessage", "", objects, 64, manyKeys)
	a.report("105,000 names, no credential")
	release := []func(){
		a.stall("127.0.0.4", "/services/attacked/wrong", "wrong", 256),
		a.stall("127.0.0.5", "/hooks/signed", "", 256),
		a.stall("127.0.0.6", "/hooks/attacked", "tok", 256),
		a.stall("127.0.0.7", "/api/chat.postMessage", "", 256),
	}
	a.report("held bodies")
	a.flood("127.0.0.5", "/hooks/x"+strings.Repeat("y", 3000), "", refused, 8, func(int) []byte { return []byte(`{}`) })
	a.report("refusals beside them")
	for _, f := range release {
		f()
	}
	a.flood("127.0.0.8", "/services/attacked/tok", "", messages/4, 32, slackShaped)
	a.report("1 MB messages, more at once")
	statuses := a.flood("127.0.0.8", "/hooks/attacked/alertmanager", "tok", objects*2, 64, manyAlerts)
	a.report("990 alerts, 64 at once")
	a.t.Log("answers to the alerts, by status:", statuses)
	require.Eventually(t, func() bool { return a.relay.status(t, "attacked").Ledger.Imbalance() == 0 }, 10*time.Second, 50*time.Millisecond)

	require.Less(t, a.redisPeak(), redisMemory/2)
	if !raceEnabled { // the race detector takes memory and time of its own
		require.Less(t, a.peak(), relayMemory)
		often, worst, _ := a.blocked()
		require.Less(t, worst, blockedMost)
		require.LessOrEqual(t, often, 2, "how often Redis was blocked")
	}
	require.Positive(t, a.probes.Load())
	require.Zero(t, a.failed.Load(), "webhooks of the other channel that were not taken in")
	require.NotContains(t, a.relay.output.String(), "going on without Redis")
	require.NotContains(t, a.relay.output.String(), "drops are not counted in Redis yet")
}
