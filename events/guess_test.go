package events_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// single decodes a webhook with one event.
func single(t *testing.T, body string) events.Event {
	t.Helper()
	all, err := decode(body)
	require.NoError(t, err, body)
	require.Len(t, all, 1)
	return all[0]
}

func TestResolveIsNeverADuplicateOfItsFiring(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ firing, resolved string }{
		"the relay's own format": {
			`{"title":"Disk full","category":"disk","status":"firing","id":"disk-1"}`,
			`{"title":"Disk full","category":"disk","status":"resolved","id":"disk-1"}`,
		},
		"its own format, with a start": {
			`{"title":"Disk full","status":"firing","id":"disk-1","started_at":"2026-11-20T07:00:00Z"}`,
			`{"title":"Disk full","status":"resolved","id":"disk-1","started_at":"2026-11-20T07:00:00Z"}`,
		},
		"its own format, with a fingerprint": {
			`{"title":"Disk full","status":"firing","fingerprint":"f","started_at":1763622000}`,
			`{"title":"Disk full","status":"resolved","fingerprint":"f","started_at":1763622000}`,
		},
		"a foreign body": {
			`{"title":"Slow uploads","incident_status":"Open","id":91,"start_time":"2026-11-20T07:00:00Z"}`,
			`{"title":"Slow uploads","incident_status":"Closed","id":91,"start_time":"2026-11-20T07:00:00Z"}`,
		},
		"a name and a place": {
			`{"service":"disk /var","host":"db-1","state":"critical"}`, `{"service":"disk /var","host":"db-1","state":"ok"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			firing, resolved := single(t, c.firing), single(t, c.resolved)
			require.Equal(t, []events.Status{events.Firing, events.Resolved}, []events.Status{firing.Status, resolved.Status})
			require.NotEmpty(t, firing.Fingerprint)
			require.Equal(t, firing.Fingerprint, resolved.Fingerprint)
			require.NotEqual(t, firing.ID, resolved.ID)
			require.Equal(t, firing.Category, resolved.Category)
		})
	}
}

func TestOwnFormatHasAFingerprintAndAStart(t *testing.T) {
	t.Parallel()
	e := single(t, `{"title":"x","id":"i","status":"firing","fingerprint":"f","started_at":"2026-11-20T07:00:00+01:00"}`)
	require.Equal(t, "f", e.Fingerprint)
	require.True(t, e.StartedAt.Equal(time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)))
	require.Equal(t, "i:firing:2026-11-20T06:00:00Z", e.ID)
	require.Equal(t, "i", single(t, `{"title":"x","id":"i"}`).ID, "without a status an id is exact")
	for body, fault := range map[string]string{
		`{"title":"x","started_at":"noon"}`:                              `started_at "noon" is not a time; use RFC 3339`,
		`{"title":"x","started_at":{}}`:                                  "started_at must be a string or a number",
		`{"title":"x","fingerprint":[]}`:                                 "fingerprint must be a string or a number",
		`{"title":"x","fingerprint":"` + strings.Repeat("f", 257) + `"}`: "fingerprint has 257 bytes",
	} {
		_, err := decode(body)
		require.ErrorContains(t, err, fault)
	}
}

func TestRepeatedDeliveryOfAForeignBodyIsADuplicateAndNewsIsNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, next string
		same        bool
	}{
		"the same update again": {`{"alert_id":7,"name":"Disk of db","time":1763622000}`, "", true},
		"another update": {
			`{"alert_id":7,"name":"Disk of db","time":1763622000}`, `{"alert_id":7,"name":"Disk of db","time":1763622060}`, false,
		},
		"the same ticket again": {`{"ticket_id":7,"subject":"No login"}`, "", true},
		"another comment": {
			`{"ticket_id":7,"subject":"No login","comment":"a"}`, `{"ticket_id":7,"subject":"No login","comment":"b"}`, false,
		},
		"down again, no time": {`{"monitor_id":7,"name":"Shop front","state":"down"}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, next := single(t, c.first), single(t, cmp.Or(c.next, c.first))
			require.Equal(t, first.Fingerprint, next.Fingerprint)
			require.Equal(t, c.same, first.ID == next.ID, "%s, %s", first.ID, next.ID)
		})
	}
}

func TestFieldsOfOtherTypesAreNoFaultOfAForeignBody(t *testing.T) {
	t.Parallel()
	for body, title := range map[string]string{
		`{"title":"x y","severity":5,"host":"h"}`:                            "x y on h",
		`{"message":"x y","status":500}`:                                     "x y",
		`{"message":"x y","status":true}`:                                    "x y",
		`{"message":"x y","status":{"code":1}}`:                              "x y",
		`{"message":"x y","labels":["a","b"]}`:                               "x y",
		`{"message":"x y","labels":{"a":{"b":"c"}}}`:                         "x y",
		`{"title":{"text":"x y"},"link":{},"category":{},"id":{},"extra":1}`: "x y",
		`{"message":"x y","events":12}`:                                      "x y",
		`{"message":"x y","events":["a"]}`:                                   "x y",
		`{"message":"x y","message":"z"}`:                                    "x y",
	} {
		require.Equal(t, title, single(t, body).Title, body)
	}
}

func TestLastResortIsTheFirstFieldsOrTheFirstLine(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]string{
		`{"a":1,"b":{"c":"d"}}`:                      {"a=1, b.c=d", `{"a":1,"b":{"c":"d"}}`},
		`{"id":"9f1c","ts":1763622000,"mode":"eco"}`: {"mode=eco, id=9f1c, ts=1763622000", `{"id":"9f1c","ts":1763622000,"mode":"eco"}`},
		`{"a":[]}`:                          {`{"a":[]}`, ""},
		`{"token":"s3cret","on":true}`:      {"on=true", `{"token":"s3cret","on":true}`},
		"backup of nas-1\n\nno space left ": {"backup of nas-1", "no space left"},
		"[ERROR] no space":                  {"[ERROR] no space", ""},
		"<p>No <b>space</b></p><p>left</p>": {"No space", "left"},
		"<?xml version='1.0'?><a><title>No space</title><host>nas-1</host></a>": {"No space on nas-1", ""},
	} {
		e := single(t, body)
		require.Equal(t, want, [2]string{e.Title, e.Text}, body)
	}
}

func TestBrokenJSONIsRefusedAndNotTakenForAText(t *testing.T) {
	t.Parallel()
	for body, header := range map[string]string{
		`{"title": "x"`: "", `[{"title": "x"}`: "text/plain", `hello`: "application/json", `"hello"`: "", `5`: "text/plain", "a\x00b": "",
	} {
		_, err := events.Decode(events.Webhook{Body: []byte(body), Header: http.Header{"Content-Type": {header}}})
		var input *events.InputError
		require.ErrorAs(t, err, &input, body)
		require.Equal(t, events.BadJSON, input.Code)
	}
}

func TestOutcomesAreFoundInStatesKindsAndTitles(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"job":"etl","result":"FAILURE"}`:                                     "error firing",
		`{"job":"etl","result":"SUCCESS"}`:                                     "info resolved",
		`{"job":"etl","action":"completed","run":{"conclusion":"failure"}}`:    "error firing",
		`{"event":"check.down","check":{"name":"Shop"}}`:                       "error firing",
		`{"type":"ALERT_RECOVERY","check":{"name":"Shop"}}`:                    "info resolved",
		`{"type":"NOTIFICATION_CLEAR","check":{"name":"Shop"}}`:                "info resolved",
		`{"eventType":"DiskFailed","name":"sda"}`:                              "error firing",
		`{"job":"etl","success":false}`:                                        "error firing",
		`{"monitor":"Shop","is_ok":0}`:                                         "error firing",
		`{"monitor":"Shop","down":false}`:                                      "info resolved",
		`{"job":"etl","exit_code":2}`:                                          "error firing",
		`{"job":"etl","exit_code":0}`:                                          "info resolved",
		`{"check":"etl","state":"not ok"}`:                                     "error firing",
		`{"message":"Connection to db-2 is down","x":1}`:                       "error firing",
		`{"message":"[RESOLVED] Error rate of shop","x":1}`:                    "info resolved",
		`{"message":"12 passed, 0 failed","x":1}`:                              "warning ",
		`{"message":"The open file limit was raised to 1000","x":1}`:           "warning ",
		`{"name":"5xx spike","triggerType":"ResolvedCritical"}`:                "info resolved",
		`{"message":"Device recovered from port down","x":1}`:                  "info resolved",
		`{"alert_id":1,"name":"Errors","backToNormal":false}`:                  "error firing",
		`{"service":"disk","state":"CRITICAL"}`:                                "critical firing",
		`{"name":"api","status":"active"}`:                                     "warning ",
		`{"alert":"Disk of db","status":"active"}`:                             "error firing",
		`{"monitor":"Shop","status":"up","previous_status":"down"}`:            "info resolved",
		`{"topic":"ops","message":"x y","priority":5}`:                         "critical ",
		`{"appid":1,"message":"x y","priority":8}`:                             "error ",
		`{"rule":{"level":12,"description":"Brute force"},"agent":{"id":"1"}}`: "error ",
		`{"msg":"x y","level":50,"pid":3}`:                                     "error ",
		`{"message":"x y","severity":9.1}`:                                     "critical ",
		`{"message":"x y","severity":1}`:                                       "warning ",
		`{"message":"x y","details":{"severity":"high"}}`:                      "error ",
	} {
		e := single(t, body)
		require.Equal(t, want, string(e.Severity)+" "+string(e.Status), body)
	}
}

func TestGuessedCategoriesAreBounded(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"CPU of web-17 is 97 % since 07:31":                "cpu-of-web-n-is-n-since-n",
		"Request 9f1c2ab77e failed for 10.0.0.7:443":       "request-n-failed-for-n",
		"Job 7f1c9d50-2b1e-4b21-9a3e-0b0e5c9a0001 is slow": "job-n-is-slow",
		"Triggered: Checkout latency":                      "checkout-latency",
		"[FIRING:1] InstanceDown":                          "instancedown",
		"Connection to db-2 is down":                       "connection-to-db-n",
		"one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight",
		"facade and decade":                                "facade-and-decade",
	} {
		require.Equal(t, want, single(t, `{"subject":"`+title+`","x":"1"}`).Category)
	}
	require.Equal(t, "high-cpu-on-n", single(t, `{"title":"High CPU on mars","host":"mars","state":"down"}`).Category)
	require.Equal(t, "too-many-500s", single(t, `{"alertname":"Too many 500s","host":"mars"}`).Category, "somebody chose the name")
}

func TestGuessedLabelsHoldNoSecretsAndNothingTwice(t *testing.T) {
	t.Parallel()
	e := single(t, `{"alert":"Disk of db","api_token":"s","auth":{"password":"p"},"mail":"ada@example.com","shard":"7",
		"time":"2026-11-20T07:00:00Z","link":"https://x.example/","long":"`+strings.Repeat("x", 300)+`",
		"deep":{"er":{"est":"z"}},"labels":{"team":"core"},"zone":{"name":"eu"}}`)
	require.Equal(t, map[string]string{"shard": "7", "team": "core", "zone_name": "eu"}, e.Labels)
}

func TestLinksOfPicturesAndInterfacesAreLeftOut(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"message":"x y","image_url":"https://x.example/a","url":"https://x.example/b"}`:             "https://x.example/b",
		`{"message":"x y","icon":"https://x.example/a.png","details":"https://x.example/c.png"}`:      "",
		`{"message":"x y","url":"https://x.example/api/1","html_url":"https://x.example/1"}`:          "https://x.example/1",
		`{"data":{"title":"x","url":"https://x.example/2"},"site":{"url":"https://x.example"},"x":1}`: "https://x.example/2",
		`{"message":"x y","url":"/alerts/7","externalURL":"https://x.example/"}`:                      "https://x.example/alerts/7",
	} {
		e := single(t, body)
		if want == "" {
			require.Empty(t, e.Links, body)
			continue
		}
		require.Len(t, e.Links, 1, body)
		require.Equal(t, want, e.Links[0].URL)
	}
}

func TestExplainTellsWhereFieldsCameFrom(t *testing.T) {
	t.Parallel()
	decoder, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{
		{Name: "backup", Fields: []string{"tool"}, Title: "body.tool"},
	}})
	require.NoError(t, err)
	explained, err := decoder.Explain(events.Webhook{Body: []byte(`{"tool":"borg","state":"failed"}`)})
	require.NoError(t, err)
	require.Equal(t, events.Origin{Field: "title", Rule: "the expression of the source", From: "body.tool"}, explained[0].Origins[0])
	require.Contains(t, explained[0].Origins, events.Origin{Field: "status", Rule: "a state", From: "state"})
	explained, err = decoder.Explain(events.Webhook{Body: []byte(`{"title":"x"}`)})
	require.NoError(t, err)
	require.Equal(t, []events.Origin{{Field: "all", Rule: "the format of generic"}}, explained[0].Origins)
	_, err = decoder.Explain(events.Webhook{})
	require.Error(t, err)
}

// Ids may have more digits than any type of number.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const id = "123456789012345678901234567890"
	for name, m := range map[string]events.Mapping{
		"an expression":           {Title: "body.name", Fingerprint: "item.alert_id"},
		"no expression":           {Title: "body.name"},
		"an expression for items": {Title: "item.name", Events: "body.list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.Name = "mine"
			decoder, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{m}})
			require.NoError(t, err)
			alert := `{"name":"Disk full","status":"firing","alert_id":` + id + `,"factor":1e400}`
			all, err := decoder.Decode(events.Webhook{Source: "mine", Body: []byte(alert[:len(alert)-1] + `,"list":[` + alert + `]}`)})
			require.NoError(t, err)
			require.Equal(t, id, all[0].Fingerprint)
		})
	}
}
