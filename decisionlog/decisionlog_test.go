package decisionlog_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/decisionlog"
)

// sink keeps what is written, and fails while it is broken.
type sink struct {
	refuses bool

	mu     sync.Mutex
	broken error
	writes int
	all    strings.Builder
}

func (s *sink) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.broken != nil {
		return 0, s.broken
	}
	return s.all.Write(lines)
}

func (s *sink) repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = nil
}

// attempts is how often something was to be written.
func (s *sink) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func (s *sink) Refuses(error) bool { return s.refuses }

func (s *sink) lines(t *testing.T) (all []decisionlog.Record) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.all.String()) {
		var r decisionlog.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		all = append(all, r)
	}
	return all
}

// counted checks the counts of lines.
func counted(t *testing.T, registry *prometheus.Registry, written, dropped int) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, m := range families[0].GetMetric() {
		counts[m.GetLabel()[0].GetValue()] = int(m.GetCounter().GetValue())
	}
	require.Equal(t, map[string]int{"written": written, "dropped": dropped}, counts)
}

func TestLinesThatDoNotFitWhileTheSinkFailsAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to, registry := &sink{broken: errors.New("away")}, prometheus.NewRegistry()
		log := decisionlog.New(decisionlog.Options{Sink: to, Replica: "r", Registerer: registry, Buffer: 2000})
		for range 100 {
			log.Record(decisionlog.Record{ID: "a", Outcome: "admitted"})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.LessOrEqual(t, to.attempts(), 7, "the waits between attempts grow")
		to.repair()
		time.Sleep(time.Minute)
		log.Record(decisionlog.Record{ID: "b", Outcome: "admitted"})
		log.Close(t.Context())
		lines := to.lines(t)
		last := lines[len(lines)-1]
		require.Greater(t, len(lines), 5)
		require.Equal(t, int64(101), last.Line, "the gap shows what was dropped")
		counted(t, registry, len(lines), 101-len(lines))
	})
}

func TestABatchThatTheSinkRefusesDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to, registry := &sink{broken: errors.New("no"), refuses: true}, prometheus.NewRegistry()
		log := decisionlog.New(decisionlog.Options{Sink: to, Registerer: registry})
		log.Record(decisionlog.Record{ID: "a"})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		to.repair()
		log.Record(decisionlog.Record{ID: "b"})
		log.Close(t.Context())
		require.Equal(t, "b", to.lines(t)[0].ID)
		counted(t, registry, 1, 1)
	})
}

func TestTextOfASenderIsBoundedAndStaysOnItsLine(t *testing.T) {
	t.Parallel()
	to := &sink{}
	log := decisionlog.New(decisionlog.Options{Sink: to})
	log.Record(decisionlog.Record{ID: strings.Repeat("é", 10_000), Category: "two\nlines\xff"})
	log.Close(t.Context())
	require.Equal(t, 1, strings.Count(to.all.String(), "\n"))
	line := to.lines(t)[0]
	require.LessOrEqual(t, len(line.ID), decisionlog.MaxText)
	require.True(t, strings.HasSuffix(line.ID, "é…"))
	require.Equal(t, "two\nlines�", line.Category)
}

func TestAFileThatWasMovedIsMadeAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	file, err := decisionlog.OpenFile(path)
	require.NoError(t, err)
	for _, text := range []string{"one\n", "two\n"} {
		_, err = file.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, os.Rename(path, path+text[:3]))
	}
	_, err = file.Write([]byte("three\n"))
	require.NoError(t, err)
	for name, want := range map[string]string{"one": "one\n", "two": "two\n", "": "three\n"} {
		content, err := os.ReadFile(path + name)
		require.NoError(t, err)
		require.Equal(t, want, string(content))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestALogThatIsOffCostsNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	var log *decisionlog.Log
	require.Zero(t, testing.AllocsPerRun(100, func() {
		log.Record(decisionlog.Record{ID: "a", At: log.Now()})
	}))
	log.Close(t.Context())
}

func TestEachFieldIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/decision-log.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "## Fields")
	var documented, fields []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		documented = append(documented, row[1])
	}
	for field := range reflect.TypeFor[decisionlog.Record]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	require.Equal(t, fields, documented)
}
