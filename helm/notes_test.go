//go:build chart

package helm_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// chartWithNotes is a copy of the chart that renders its notes as an object: helm template leaves them out.
func chartWithNotes(t *testing.T) string {
	t.Helper()
	chart := t.TempDir()
	require.NoError(t, os.CopyFS(chart, os.DirFS("relay")))
	templates := filepath.Join(chart, "templates")
	notes, err := os.ReadFile(filepath.Join(templates, "NOTES.txt"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"_notes.tpl": `{{ define "notes" }}` + string(notes) + "{{ end }}",
		"notes.yaml": "kind: Notes\nmetadata: {name: notes}\ntext: {{ include \"notes\" . | quote }}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(templates, name), []byte(text), 0o600))
	}
	return chart
}

// The notes name what the relay needs and does not have, and only that.
func TestNotes(t *testing.T) {
	t.Parallel()
	chart := chartWithNotes(t)
	notes := func(set string) string {
		out, err := helm(t, "template", "my", chart, "--namespace", "ops", kubernetes, "--set", set)
		require.NoError(t, err, out)
		return at[string](t, objectsOf(t, out)["Notes/notes"], "text")
	}
	text := notes("replicaCount=1,channels[0].name=a,channels[0].slackChannel=C1,serviceMonitor.enabled=true,networkPolicy.enabled=true")
	for _, note := range []string{
		"http://my-relay.ops.svc:80/hooks/<channel>", "for these channels: a\n", "helm test my --namespace ops", "without Redis",
		"channel a has a slackChannel, and there is no bot token", "channel a has no ingressToken", "networkPolicy.opsFrom is empty",
	} {
		require.Contains(t, text, note)
	}
	text = notes("tls.secretName=cert,existingSecret=mine,channels[0].name=a,channels[0].slackChannel=C1")
	require.Contains(t, text, "https://my-relay.ops.svc:80/hooks/<channel>")
	require.NotContains(t, text, "NOTE")
	text = notes(`redisURL=redis://r,channels[0].name=a,config=channels: [{name: a\, auth: [{kind: bearer}]}\, {name: b}]`)
	require.NotContains(t, text, "channel a has no ingressToken")
	require.Contains(t, text, "config has channels that the value channels does not list: b.")
	require.Contains(t, notes("redisURL=redis://r,config=channels: [{name: b}]"), "for these channels: b\n")
}
