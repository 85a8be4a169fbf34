package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page returns a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	require.NoError(t, err)
	return string(text)
}

func TestCommandsOfTheDocsAreValid(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range []string{"sizing.md", "benchmarks.md"} {
		for _, command := range regexp.MustCompile(`(?m)^go run ./test/scale (.*?)(?: +#.*)?$`).FindAllStringSubmatch(page(t, name), -1) {
			_, err := parse(strings.Fields(command[1]), &bytes.Buffer{})
			require.NoError(t, err, command[0])
			found++
		}
	}
	require.GreaterOrEqual(t, found, 3)
}

// The bytes of the page are those that are measured. Processor times depend on the machine.
func TestMemoryIsWhatThePageSays(t *testing.T) {
	documented := map[string]float64{}
	rows := regexp.MustCompile(`(?m)^\| `+"`(.+?)`"+`[^|]* \| ([\d,]+) \|`).FindAllStringSubmatch(page(t, "sizing.md"), -1)
	for _, row := range rows {
		bytes, err := strconv.ParseFloat(strings.ReplaceAll(row[2], ",", ""), 64)
		require.NoError(t, err)
		documented[row[1]] = bytes
	}
	require.GreaterOrEqual(t, len(documented), 7)
	t.Chdir("../..")
	var table, progress bytes.Buffer
	args := []string{"-measure", "memory", "-channels", "30", "-idle", "200ms"}
	require.NoError(t, run(t.Context(), args, &table, &progress), "%s", &progress)
	measured := map[string]float64{}
	for _, row := range regexp.MustCompile(`(?m)^(.*): memory \(B\) +(\S+)`).FindAllStringSubmatch(table.String(), -1) {
		bytes, err := strconv.ParseFloat(row[2], 64)
		require.NoError(t, err)
		measured[row[1]] = bytes
	}
	for name, bytes := range documented {
		require.Contains(t, measured, name)
		noise := 20_000.0 / 30 // of connections and of the allocator, for each event
		if strings.Contains(name, "20") || strings.Contains(name, "queued") || strings.Contains(name, "dead") {
			noise /= 20
		}
		require.InDelta(t, bytes, measured[name], noise+bytes*0.4, name)
	}
	for _, row := range []string{
		`event: script calls \(1\) +[1-9]`, `viewers, 3: script calls`, `second replica: script calls`, `key dead: keys \(1\) +30 `,
		`key limit:sliding-log:channel: memory of one \(B\) +\d{3}`,
	} {
		require.Regexp(t, `(?m)^`+row, table.String())
	}
}
