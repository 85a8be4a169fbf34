package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/simulation"
	"slackrelay/test/golden"
)

// dayBefore is the configuration of the documentation in which all features are off.
const dayBefore = "slack_token: xoxb-your-token\n" +
	"channels: [{name: alerts, slack_channel: C0123ABCD, bundle: off, resolves: post, repeats: post}]\n"

// dayFeatures are the features that the documentation shows alone, as --try takes them.
var dayFeatures = []struct{ name, try string }{
	{"one message for a group", "bundle=auto"},
	{"resolves and repeats edit", "resolves=edit,repeats=merge"},
	{"hold", "hold=2m"},
	{"flapping", "flapping.changes=4,flapping.within=30m"},
	{"inhibition", "inhibitions=[{name: cluster, source: [{field: label.alertname, is: ClusterDown}], " +
		"target: [{field: label.alertname, is: ClusterDown, not: true}], equal: [cluster], release_after: 5m}]"},
	{"heartbeat", "heartbeats=[{name: watchdog, channel: alerts, every: 10m, severity: critical, " +
		"match: [{field: label.alertname, is: Watchdog}]}]"},
	{"first notices", "first_notice.mode=auto"},
}

// playDay plays a day with all features off, each alone, and all on.
func playDay(t *testing.T, events int) []simulation.Result {
	t.Helper()
	opts := simulateOptions{generate: "day", events: events, seed: 1, config: writeFile(t, dayBefore), against: "../../docs/day.yaml"}
	for _, feature := range dayFeatures {
		opts.tries = append(opts.tries, feature.try)
	}
	settings, err := opts.settings()
	require.NoError(t, err)
	settings = append(settings[:1], append(settings[2:], settings[1])...)
	settings[0].Name = "all off"
	settings[len(settings)-1].Name = "all on"
	for i, feature := range dayFeatures {
		settings[i+1].Name = feature.name
	}
	trace, _, err := opts.load(nil)
	require.NoError(t, err)
	runs, err := playAll(t.Context(), trace, settings, bytes.NewBuffer(nil))
	require.NoError(t, err)
	return runs
}

func TestGoldenDayHasOneMessageForEachProblem(t *testing.T) {
	t.Parallel()
	runs := playDay(t, 10_000)
	table := "| features | messages | fewer than events | categories unheard | problems not heard | of these critical " +
		"| latest first notice |\n" +
		"|---|---|---|---|---|---|---|\n"
	for i := range runs {
		r := &runs[i]
		table += fmt.Sprintf("| %s | %s | %s | %d | %s | %d | %s |\n", r.Name, commas(r.Messages), fewer(r), r.Unheard,
			commas(r.ProblemsUnheard), r.CriticalUnheard, seconds(r.LatestNotice))
	}
	golden.Block(t, "../../docs/problems.md", "table: day", table)
	off, on := runs[0], runs[len(runs)-1]
	require.LessOrEqual(t, on.Messages, on.Received/20, "95 % fewer messages than events")
	require.Zero(t, on.ProblemsUnheard)
	require.Zero(t, on.Unheard)
	require.Positive(t, off.CriticalUnheard)
	var chart bytes.Buffer
	require.NoError(t, simulation.Report{Runs: []simulation.Result{off, on}}.WriteSVG(&chart))
	golden.File(t, "../../docs/img/day.svg", chart.Bytes())
	sample, err := os.ReadFile("../../docs/day.yaml")
	require.NoError(t, err)
	documented, err := os.ReadFile("../../docs/problems.md")
	require.NoError(t, err)
	require.True(t, bytes.Contains(documented, []byte("```yaml\n"+dayBefore+"```\n")), "problems.md must have before.yaml: %s", dayBefore)
	golden.Block(t, "../../docs/problems.md", "day.yaml", "```yaml\n"+string(sample)+"```\n")
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	figures := fmt.Sprintf("%s messages instead of %s", commas(on.Messages), commas(off.Messages))
	require.True(t, bytes.Contains(readme, []byte(figures)), "README.md must say: %s", figures)
}

// commas writes a number below a million with commas.
func commas(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
