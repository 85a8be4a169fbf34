package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
)

// process is a running relay.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	public string // base URLs
	ops    string
	exited chan struct{}
	output *output
}

// output is everything a process printed.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// startRelay starts relay serve on free ports with these variables and nothing else in its environment.
func startRelay(tb testing.TB, env ...string) *process {
	tb.Helper()
	return startProgram(tb, program(), env...)
}

// startProgram starts another build of the relay in the same way.
func startProgram(tb testing.TB, path string, env ...string) *process {
	tb.Helper()
	p := &process{t: tb, exited: make(chan struct{}), output: &output{}}
	p.cmd = exec.Command(path, "serve")
	p.cmd.Env = append([]string{
		"RELAY_LISTEN=127.0.0.1:0", "RELAY_OPS_LISTEN=127.0.0.1:0", "RELAY_LOG_FORMAT=json", "RELAY_LOG_LEVEL=debug", "RELAY_DRAIN=0s",
	}, env...)
	p.cmd.Stdout = p.output
	stderr, err := p.cmd.StderrPipe()
	require.NoError(tb, err)
	require.NoError(tb, p.cmd.Start())
	started := make(chan struct{})
	go p.read(stderr, started)
	tb.Cleanup(p.kill)
	select {
	case <-started:
	case <-p.exited:
		tb.Fatalf("relay ended at once:\n%s", p.output)
	case <-time.After(20 * time.Second):
		tb.Fatalf("relay did not start:\n%s", p.output)
	}
	return p
}

// read copies the log and finds the addresses in it.
func (p *process) read(stderr io.Reader, started chan struct{}) {
	defer close(p.exited)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(p.output, lines.Text())
		var line struct {
			Msg       string
			Listen    struct{ IP, Port any }
			OpsListen struct{ IP, Port any } `json:"ops_listen"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "relay started" {
			p.public = fmt.Sprintf("http://127.0.0.1:%v", line.Listen.Port)
			p.ops = fmt.Sprintf("http://127.0.0.1:%v", line.OpsListen.Port)
			close(started)
		}
	}
	p.cmd.Wait()
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// stop ends it with SIGTERM, as Kubernetes does, and returns its exit code.
func (p *process) stop() int {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		p.t.Fatalf("relay did not stop:\n%s", p.output)
	}
	return p.cmd.ProcessState.ExitCode()
}

var client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// request sends a request and returns the status and the body of the answer.
func request(tb testing.TB, method, url, token string, body []byte) (int, []byte) {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, url, bytes.NewReader(body))
	require.NoError(tb, err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(r)
	require.NoError(tb, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	return response.StatusCode, answer
}

// post posts a webhook that must be accepted.
func (p *process) post(tb testing.TB, channel string, body any) pipeline.Receipt {
	tb.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(tb, err)
	status, answer := request(tb, http.MethodPost, p.public+"/hooks/"+channel, "", encoded)
	require.Equal(tb, http.StatusAccepted, status, "%s", answer)
	var receipt pipeline.Receipt
	require.NoError(tb, json.Unmarshal(answer, &receipt))
	return receipt
}

// status reads a channel from the API.
func (p *process) status(tb testing.TB, channel string) pipeline.ChannelStatus {
	tb.Helper()
	code, answer := request(tb, http.MethodGet, p.ops+"/api/v1/channels/"+channel, "", nil)
	require.Equal(tb, http.StatusOK, code, "%s", answer)
	var status pipeline.ChannelStatus
	require.NoError(tb, json.Unmarshal(answer, &status))
	return status
}

// metric reads one sample, "name{labels}", from /metrics; "" when it is missing.
func (p *process) metric(tb testing.TB, sample string) string {
	tb.Helper()
	_, answer := request(tb, http.MethodGet, p.ops+"/metrics", "", nil)
	for line := range strings.Lines(string(answer)) {
		if rest, ok := strings.CutPrefix(line, sample+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// drained waits until nothing is pending in a channel, and returns its status.
func (p *process) drained(tb testing.TB, channel string, within time.Duration) pipeline.ChannelStatus {
	tb.Helper()
	require.Eventually(tb, func() bool { return p.status(tb, channel).Ledger.Pending == 0 }, within, 20*time.Millisecond)
	return p.status(tb, channel)
}

// logs waits until the log contains a text.
func (p *process) logs(tb testing.TB, text string) {
	tb.Helper()
	require.Eventually(tb, func() bool { return strings.Contains(p.output.String(), text) }, 10*time.Second, 5*time.Millisecond, text)
}

// startSlack starts a fake Slack.
func startSlack(tb testing.TB) *fakeslack.Server {
	tb.Helper()
	slack, err := fakeslack.Start()
	require.NoError(tb, err)
	tb.Cleanup(func() {
		client.CloseIdleConnections()
		slack.Close()
	})
	return slack
}

// event is one generic event.
type event struct {
	ID       string `json:"id,omitempty"`
	Category string `json:"category,omitempty"`
	Title    string `json:"title"`

	Severity    string            `json:"severity,omitempty"`
	Status      string            `json:"status,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}
