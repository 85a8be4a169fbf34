package events_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/events"
)

// The marks of the sources hide no source: the one that is found is the first that claims the webhook when all are asked.
func TestMarksFindTheSourceThatClaimsFirst(t *testing.T) {
	t.Parallel()
	var members, headers []string // of all examples: "name":value, and name: value
	for file, e := range examples(t) {
		w := e.webhook()
		w.Source = ""
		require.Equal(t, events.ClaimedBy(w), events.SourceOf(w), "%s: the marks of the source lack a field or header", file)
		var fields map[string]json.RawMessage
		if json.Unmarshal(e.Body, &fields) == nil {
			for name, value := range fields {
				members = append(members, string(quoted(t, name))+":"+string(value))
			}
		}
		for name, value := range e.Header {
			if name != "Ce-Specversion" { // it decides before any source is asked
				headers = append(headers, name+": "+value)
			}
		}
	}
	slices.Sort(members) // so that a failure can be repeated
	slices.Sort(headers)
	rapid.Check(t, func(rt *rapid.T) {
		fields := map[string]string{}
		for _, m := range rapid.SliceOfN(rapid.SampledFrom(members), 1, 8).Draw(rt, "members") {
			name, _, _ := strings.Cut(m, ":")
			fields[name] = m
		}
		w := events.Webhook{Header: http.Header{}, Body: []byte("{" + strings.Join(slices.Sorted(maps.Values(fields)), ",") + "}")}
		for _, h := range rapid.SliceOfN(rapid.SampledFrom(headers), 0, 2).Draw(rt, "headers") {
			name, value, _ := strings.Cut(h, ": ")
			w.Header.Set(name, value)
		}
		require.Equal(rt, events.ClaimedBy(w), events.SourceOf(w), "the marks of the source lack a field or header of %s %s", w.Header, w.Body)
	})
}

// An event in the relay's own format is nobody else's: hardly any source is asked.
func TestFewSourcesAreAskedAboutAnEventOfTheRelay(t *testing.T) {
	t.Parallel()
	w := events.Webhook{
		Header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"curl/8.5.0"}},
		Body:   []byte(`{"category":"errors","title":"Disk full","text":"/var is at 100 %","severity":"critical","labels":{"host":"db-1"}}`),
	}
	require.LessOrEqual(t, events.Candidates(w), 12)
}

func quoted(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.NewEncoder(&b).Encode(text))
	return bytes.TrimSpace(b.Bytes())
}
