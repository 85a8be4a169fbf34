//go:build chart

package helm_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/test/golden"
)

// row is a value of the chart, as its README lists it.
type row struct{ section, name, initial, meaning string }

var (
	keyLine     = regexp.MustCompile(`^( *)([A-Za-z]+):(?: (.*))?$`)
	sectionLine = regexp.MustCompile(`^## (.*)$`)
	commentLine = regexp.MustCompile(`^ *# ?(.*)$`)
)

// readValues reads values.yaml: the comment right above a value is its meaning.
func readValues(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("relay/values.yaml")
	require.NoError(t, err)
	var rows []row
	var parents, comment []string
	section := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section = m[1]
		} else if m := commentLine.FindStringSubmatch(line); m != nil {
			comment = append(comment, m[1])
			continue
		} else if m := keyLine.FindStringSubmatch(line); m != nil {
			parents = append(parents[:len(m[1])/2], m[2])
			rows = append(rows, row{section, strings.Join(parents, "."), m[3], strings.Join(comment, " ")})
		}
		comment = nil
	}
	require.Greater(t, len(rows), 100)
	return rows
}

// The README of the chart lists every value, with its default and its meaning.
func TestGoldenReadmeOfTheChart(t *testing.T) {
	var b strings.Builder
	section := ""
	for _, r := range readValues(t) {
		if r.section != section {
			section = r.section
			fmt.Fprintf(&b, "\n### %s\n\n| Value | Default | Meaning |\n|---|---|---|\n", section)
		}
		initial := ""
		if r.initial != "" {
			initial = "`" + r.initial + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.name, initial, strings.ReplaceAll(r.meaning, "|", `\|`))
	}
	golden.Block(t, "relay/README.md", "values", strings.TrimPrefix(b.String(), "\n"))
}

// Values of the top level say what they are for, unless their name is that of a field of Kubernetes.
func TestValuesAreExplained(t *testing.T) {
	kubernetesFields := regexp.MustCompile(`^(affinity|nodeSelector|tolerations|priorityClassName|strategy|revisionHistoryLimit|image|` +
		`.*(Annotations|Labels|Probe|[sS]ecurityContext|Containers)|extraVolumes|extraVolumeMounts|serviceAccount|logLevel|logFormat|` +
		`podDisruptionBudget|redis|networkPolicy)$`)
	for _, r := range readValues(t) {
		if !strings.Contains(r.name, ".") && !kubernetesFields.MatchString(r.name) {
			require.NotEmpty(t, r.meaning, r.name)
		}
	}
}
