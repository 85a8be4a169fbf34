package events_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/test/golden"
)

// example is a webhook's body and, beside it, the events that it becomes.
type example struct {
	Named  string            `json:"named,omitempty"`  // the source that the path names
	Header map[string]string `json:"header,omitempty"` // beside a delivery id
	Raw    string            `json:"raw,omitempty"`    // the body, where it is no JSON
	Body   json.RawMessage   `json:"body,omitempty"`
	Events []events.Event    `json:"events"`
}

func (e example) webhook() events.Webhook {
	w := events.Webhook{Source: e.Named, Body: append([]byte(e.Raw), e.Body...), Header: http.Header{"Idempotency-Key": {"delivery-1"}}}
	for name, value := range e.Header {
		w.Header.Set(name, value)
	}
	return w
}

func examples(t *testing.T) map[string]example {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]example{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var e example
		require.NoError(t, json.Unmarshal(raw, &e))
		all[file] = e
	}
	return all
}

func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	for file, e := range examples(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			got, err := events.Decode(e.webhook())
			require.NoError(t, err)
			e.Events = got
			golden.JSON(t, file, e)
			require.Equal(t, filepath.Base(filepath.Dir(file)), got[0].Source, "the folder is the source")
		})
	}
}

func TestEveryWebhookIsClaimedByItsOwnSourceFirst(t *testing.T) {
	t.Parallel()
	for file, e := range examples(t) {
		if e.Named != "" {
			continue
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			want := []string{filepath.Base(filepath.Dir(file))}
			if want[0] == "generic" {
				want = nil
			}
			require.Equal(t, want, events.Claims(e.webhook()))
			withoutHeaders := events.Claims(events.Webhook{Body: e.webhook().Body})
			require.LessOrEqual(t, len(withoutHeaders), 1, "a proxy may remove headers")
		})
	}
}

func TestEverySourceHasAGolden(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for file := range examples(t) {
		seen[filepath.Base(filepath.Dir(file))] = true
	}
	for _, source := range events.Sources() {
		require.True(t, seen[source], source)
	}
}

func decode(body string) ([]events.Event, error) {
	return events.Decode(events.Webhook{Body: []byte(body)})
}

func TestInvalidWebhooksAreRefusedWithCodeAndField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, source string
		code         events.Code
		fault        string
	}{
		"empty":            {"", "", events.EmptyBody, "the body is empty"},
		"white space":      {" \n\t", "", events.EmptyBody, "the body is empty"},
		"not JSON":         {"hello", "alertmanager", events.BadJSON, "must be a JSON object or an array"},
		"broken JSON":      {`{"title": "x"`, "", events.BadJSON, "ends too early, after byte 13"},
		"a comma too much": {`{"title": "x",}`, "", events.BadJSON, "invalid character"},
		"two values":       {`{"title":"x"} {"title":"y"}`, "", events.BadJSON, "more after its end at byte 15"},
		"a string":         {`"title"`, "", events.BadJSON, "must be a JSON object or an array"},
		"invalid UTF-8":    {"{\"title\": \"caf\xe9\"}", "", events.BadJSON, "not valid UTF-8 at byte 14"},
		"deep nesting": {
			`{"title":"x","labels":` + strings.Repeat(`{"a":`, 20_000) + strings.Repeat("}", 20_000) + "}", "",
			events.BadJSON, "nested more than 100 deep at byte",
		},
		"deep arrays":          {strings.Repeat("[", 500_000), "", events.BadJSON, "nested more than 100 deep at byte"},
		"no title, no text":    {`{"category":"x"}`, "", events.BadField, "title or text is needed"},
		"title is a number":    {`{"title": 5}`, "", events.BadField, "title must be a string, not a number"},
		"text is an object":    {`{"text": {}}`, "", events.BadField, "text must be a string, not an object"},
		"severity is a list":   {`{"title":"x","severity":["high"]}`, "", events.BadField, "severity must be a string, not an array"},
		"labels is a list":     {`{"title":"x","labels":["a"]}`, "", events.BadField, "labels must be an object"},
		"a label is an object": {`{"title":"x","labels":{"a":{}}}`, "", events.BadField, "labels.a must be a string"},
		"id is true":           {`{"title":"x","id":true}`, "", events.BadField, "id must be a string or a number"},
		"id too long":          {`{"title":"x","id":"` + strings.Repeat("i", 257) + `"}`, "", events.BadField, "id has 257 bytes"},
		"one of three": {
			`[{"title":"x"},{"title":"y"},{"title":true}]`, "", events.BadField,
			"events[2].title must be a string, not true or false",
		},
		"a label of one":    {`{"events":[{"title":"x"},{"title":"y","labels":{"a":[]}}]}`, "", events.BadField, "events[1].labels.a must be"},
		"not an object":     {`[5]`, "", events.BadField, "events[0] must be an object, not a number"},
		"events is no list": {`{"events": {}}`, "", events.BadField, "events must be an array, not an object"},
		"no events":         {`[]`, "", events.NoEvents, "no events"},
		"events is empty":   {`{"events": []}`, "", events.NoEvents, "no events"},
		"1,001 events": {
			`[{"title":"x"}` + strings.Repeat(`,{"title":"x"}`, 1000) + `]`, "", events.TooManyEvents,
			"1001 events, at most 1000",
		},
		"unknown source":     {`{"title":"x"}`, "xymon", events.UnknownSource, `"xymon" is unknown; use one of `},
		"named, other shape": {`{"title":"x"}`, "alertmanager", events.NoEvents, "no events"},
		"alerts is no list":  {`{"alerts":{},"groupKey":""}`, "", events.BadField, "alerts must be an array, not an object"},
		"a label is a list": {
			`{"alerts":[{"labels":{"a":[]}}],"groupKey":""}`, "", events.BadField,
			"alerts[0].labels.a must be a string, a number",
		},
		"a name twice": {
			`{"title":"x","labels":{"a":"1","a":"2"}}`, "", events.BadJSON,
			"labels.a is given twice in one object, at byte 31",
		},
		"a name twice above": {`{"title":"x","title":"y"}`, "", events.BadJSON, "title is given twice in one object"},
		"a time is none": {
			`{"alerts":[{},{"startsAt":"noon"}],"groupKey":""}`, "", events.BadField,
			`alerts[1].startsAt "noon" is not a time; use RFC 3339`,
		},
		"1,001 alerts": {`{"groupKey":"","alerts":[{}` + strings.Repeat(`,{}`, 1000) + `]}`, "", events.TooManyEvents, "1001 events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := events.Decode(events.Webhook{Source: c.source, Body: []byte(c.body)})
			var input *events.InputError
			require.ErrorAs(t, err, &input)
			require.Equal(t, c.code, input.Code, input.Message)
			require.Contains(t, input.Message, c.fault)
			require.Less(t, len(input.Message), 500)
		})
	}
}

// lastID decodes a webhook and returns the id of its last event.
func lastID(t *testing.T, body string, header http.Header) string {
	t.Helper()
	all, err := events.Decode(events.Webhook{Body: []byte(body), Header: header})
	require.NoError(t, err)
	return all[len(all)-1].ID
}

func TestIDsComeFromTheSenderTheAlertOrTheDelivery(t *testing.T) {
	t.Parallel()
	delivery := http.Header{"Idempotency-Key": {"d-7"}}
	alert := `{"groupKey":"","alerts":[{"status":"firing","fingerprint":"f1","startsAt":"2026-11-20T07:00:00+01:00"}]}`
	for name, c := range map[string]struct {
		body   string
		header http.Header
		want   string
	}{
		"the sender's own id":           {`{"title":"x","id":"mine"}`, delivery, "mine"},
		"a number":                      {`{"title":"x","id":42}`, nil, "42"},
		"delivery and index":            {`[{"title":"x"},{"title":"x"}]`, delivery, "d-7#1"},
		"fingerprint, status and start": {alert, delivery, "f1:firing:2026-11-20T06:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, lastID(t, c.body, c.header))
		})
	}
}

func TestAHeaderThatProxiesSetTooIdentifiesDeliveriesOfItsSourceOnly(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Request-Id": {"r-1"}}
	push := `{"eventKey":"repo:refs_changed","date":"2026-11-20T07:00:00+0000","actor":{"name":"ada"},"changes":[]}`
	require.Equal(t, "r-1#0", lastID(t, push, header))
	require.NotContains(t, lastID(t, `{"title":"x"}`, header), "r-1")
	require.Equal(t, "l-1#0", lastID(t, `{"title":"x"}`, http.Header{"Linear-Delivery": {"l-1"}}))
}

func TestEventsWithoutAnIDAreNeverDuplicates(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"anonymous":            `{"title":"x"}`,
		"without a start time": `{"groupKey":"","alerts":[{"status":"firing","labels":{"a":"b"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := lastID(t, body, nil)
			second := lastID(t, body, nil)
			require.NotEqual(t, first, second)
		})
	}
}

func TestCategoriesAreNormalisedAndStayDistinct(t *testing.T) {
	t.Parallel()
	for original, want := range map[string]string{
		"errors":                  "errors",
		"HighErrorRate":           "higherrorrate",
		"Disk full (db-1)":        "disk-full-db-1",
		"  a.b_c-d  ":             "a.b_c-d",
		"":                        "uncategorized",
		"---":                     "uncategorized",
		"!?":                      "uncategorized",
		"naïve":                   "na-ve-f86fd89d",
		"警告":                      "-a8b7a448",
		"a{b}:c\x00d":             "a-b-c-d",
		strings.Repeat("x", 100):  strings.Repeat("x", 100),
		strings.Repeat("Xy", 101): strings.Repeat("xy", 46)[:91] + "-",
	} {
		t.Run(original, func(t *testing.T) {
			t.Parallel()
			got := events.NormalizeCategory(original)
			require.LessOrEqual(t, len(got), 100)
			require.Regexp(t, `^[a-z0-9._-]+$`, got)
			if strings.HasSuffix(want, "-") { // cut: a hash follows
				require.Regexp(t, "^"+want+"[0-9a-f]{8}$", got)
				return
			}
			require.Equal(t, want, got)
		})
	}
	require.NotEqual(t, events.NormalizeCategory(strings.Repeat("x", 101)), events.NormalizeCategory(strings.Repeat("x", 102)))
}

func TestWordsForSeverityAndStatusAreMappedAndKeptAsLabels(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]events.Severity{
		"critical": events.Critical, "Fatal": events.Critical, "P1": events.Critical, "error": events.Error,
		"HIGH": events.Error, "warn": events.Warning, "info": events.Info, " notice ": events.Info,
		"": events.Warning, "purple": events.Warning,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			all, err := decode(fmt.Sprintf(`{"title":"x","severity":%q,"status":"banana"}`, word))
			require.NoError(t, err)
			require.Equal(t, want, all[0].Severity)
			require.Equal(t, "banana", all[0].Labels["status"], "an unknown word is kept")
			if word != string(want) {
				require.Equal(t, word, all[0].Labels["severity"], "the original is kept")
			}
		})
	}
	all, err := decode(`[{"title":"x","status":"Resolved"},{"title":"x","status":"firing"},{"title":"x"}]`)
	require.NoError(t, err)
	require.Equal(t, events.Resolved, all[0].Status)
	require.Equal(t, events.Firing, all[1].Status)
	require.Equal(t, events.NoStatus, all[2].Status)
}

func TestLongFieldsAreCut(t *testing.T) {
	t.Parallel()
	labels := map[string]string{}
	for i := range 100 {
		labels[fmt.Sprintf("l%03d", i)] = strings.Repeat("v", 2000)
	}
	labels["a"+strings.Repeat("n", 2000)] = "long name"
	body, err := json.Marshal(map[string]any{
		"link": "https://x.example/" + strings.Repeat("u", 5000), "title": strings.Repeat("é", 5000),
		"text": strings.Repeat("t", 50_000), "labels": labels,
	})
	require.NoError(t, err)
	roomy, err := events.NewDecoder(events.Options{Limits: events.Limits{Event: 1 << 20}})
	require.NoError(t, err)
	all, err := roomy.Decode(events.Webhook{Body: body})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 999)+"…", all[0].Title)
	require.Len(t, []rune(all[0].Text), 12_000)
	require.Len(t, all[0].Labels, 64)
	require.Len(t, []rune(all[0].Labels["l000"]), 1000)
	require.Equal(t, "long name", all[0].Labels["a"+strings.Repeat("n", 198)+"…"])
	require.Empty(t, all[0].Links, "an address that is too long is kept as a label")
}

func TestAByteOrderMarkIsIgnored(t *testing.T) {
	t.Parallel()
	all, err := decode("\xef\xbb\xbf" + `{"title":"x"}`)
	require.NoError(t, err)
	require.Equal(t, "x", all[0].Title)
}

// Real webhooks, if there is a folder of them: <folder>/<source>/*.json. Other folders have webhooks of unknown formats.
func TestRealPayloadsAreDecodedByTheirSource(t *testing.T) {
	t.Parallel()
	root := os.Getenv("PAYLOADS_DIR") //nolint:forbidigo // a folder of test data is no configuration of the product
	if root == "" {
		t.Log("PAYLOADS_DIR is not set: no real payloads at hand")
		return
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		all, err := events.Decode(events.Webhook{Body: body})
		if unreadable[filepath.Base(file)] {
			require.Error(t, err, file)
			continue
		}
		require.NoError(t, err, file)
		want, ok := map[string]string{
			"azuredevops": "azure_devops", "grafana_legacy": "grafana", "slack_shaped": "slack", "vmware_vrealize": "vrealize",
			"kapacitor": "generic", // a template of three fields
		}[folder]
		switch {
		case strings.HasPrefix(filepath.Base(file), "outgoing_"): // another thing that Slack sends itself
			want = "generic"
		case !ok && slices.Contains(events.Sources(), folder):
			want = folder
		case !ok:
			want = "generic"
		}
		for _, e := range all {
			require.Equal(t, want, e.Source, file)
			require.NotEmpty(t, e.Title, file)
			require.NotEmpty(t, e.ID, file)
			t.Logf("%s/%s: %s %s %s %q", folder, filepath.Base(file), e.Category, e.Severity, e.Status, e.Title)
		}
	}
}

// unreadable are the webhooks without any text.
var unreadable = map[string]bool{"batch_empty.json": true, "webhook_null_text.json": true}

// The goldens of every source are the seeds, with the source named and detected; or only those of SOAK_SOURCE, named.
func FuzzDecode(f *testing.F) {
	only := os.Getenv("SOAK_SOURCE") //nolint:forbidigo // what to test is no configuration of the product
	for _, seed := range []string{
		`{"title":"x","labels":{"a":1},"id":7}`, `[{"text":"y"}]`, `{"events":[{"title":"z"}]}`,
		`{"groupKey":"k","alerts":[{"labels":{"alertname":"A"},"startsAt":"2026-11-20T07:00:00Z"}],"truncatedAlerts":1}`,
	} {
		f.Add([]byte(seed), "", "", "")
		f.Add([]byte(seed), "alertmanager", "", "")
	}
	f.Add([]byte(`{"Type":"Notification","MessageId":"1","TopicArn":"arn:aws:sns:eu-west-1:1:t","Message":" "}`), "sns", "", "")
	files, err := filepath.Glob(filepath.Join("testdata", cmp.Or(only, "*"), "*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		var e example
		require.NoError(f, json.Unmarshal(raw, &e))
		w := e.webhook()
		f.Add(w.Body, "", "", "")
		for name, value := range e.Header {
			f.Add(w.Body, filepath.Base(filepath.Dir(file)), name, value)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, source, header, value string) {
		w := events.Webhook{Source: cmp.Or(only, source), Body: bytes.Clone(body), Header: http.Header{}}
		w.Header.Set(header, value)
		all, err := events.Decode(w)
		if err != nil {
			var input *events.InputError
			require.ErrorAs(t, err, &input)
			require.Less(t, len(input.Message), 1000)
			return
		}
		before, err := json.Marshal(all)
		require.NoError(t, err)
		for i := range w.Body {
			w.Body[i] = 'x'
		}
		after, err := json.Marshal(all)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "an event outlives the body")
		for _, e := range all {
			require.NotEmpty(t, e.ID)
			require.NotEmpty(t, e.Title+e.Text)
			require.Regexp(t, `^[a-z0-9._-]{1,100}$`, e.Category)
			_, err := json.Marshal(e)
			require.NoError(t, err)
		}
	})
}
