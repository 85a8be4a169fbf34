package events_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/timeinterval"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v2"

	"slackrelay/events"
)

func compile(tb testing.TB, rules ...events.Rule) *events.Rules {
	tb.Helper()
	compiled, err := events.NewRules(rules, nil)
	require.NoError(tb, err)
	return compiled
}

func disk() events.Event {
	return events.Event{
		ID: "1", Source: "alertmanager", Sender: "prod", Channel: "alerts", Category: "diskfull", Severity: events.Warning, Status: events.Firing,
		Title: "Disk of db-1 is full", Text: "/var", Labels: map[string]string{"team": "core", "Env": "prod"},
		Links: []events.Link{{Title: "Source", URL: "https://prom.example/1"}},
	}
}

func TestMatchersCompareOneFieldOfAnEvent(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Env": {"prod"}}
	for text, c := range map[string]struct {
		matcher events.Matcher
		matches bool
	}{
		"a field":            {events.Matcher{Field: "severity", Is: new("warning")}, true},
		"another value":      {events.Matcher{Field: "severity", Is: new("error")}, false},
		"turned round":       {events.Matcher{Field: "severity", Is: new("error"), Not: true}, true},
		"a set":              {events.Matcher{Field: "category", In: []string{"a", "diskfull"}}, true},
		"not in a set":       {events.Matcher{Field: "category", In: []string{"a"}, Not: true}, true},
		"a pattern":          {events.Matcher{Field: "title", Matches: new("db-[0-9]")}, true},
		"another pattern":    {events.Matcher{Field: "title", Matches: new("^db-[0-9]")}, false},
		"a label":            {events.Matcher{Field: "label.team", Is: new("core")}, true},
		"letter case counts": {events.Matcher{Field: "label.env", Is: new("prod")}, false},
		"a missing label":    {events.Matcher{Field: "label.zone", Is: new("")}, true},
		"a header":           {events.Matcher{Field: "header.x-env", Is: new("prod")}, true},
		"the first link":     {events.Matcher{Field: "link", Matches: new("prom")}, true},
		"the sender":         {events.Matcher{Field: "sender", Is: new("prod")}, true},
	} {
		compiled, err := c.matcher.Compile()
		require.NoError(t, err, text)
		e := disk()
		require.Equal(t, c.matches, compiled.Matches(&e, header), text)
	}
}

func TestInvalidMatchersAreRefusedWithTheirField(t *testing.T) {
	t.Parallel()
	for fault, m := range map[string]events.Matcher{
		`field "colour" is unknown; use one of category`:                 {Field: "colour", Is: new("red")},
		`field "label." is unknown`:                                      {Field: "label.", Is: new("red")},
		`field "title" needs one of is, in and matches; set exactly one`: {Field: "title"},
		`needs one of`:                      {Field: "title", Is: new("a"), In: []string{"b"}},
		`is not a valid regular expression`: {Field: "title", Matches: new("(")},
		`at most 1000 are allowed`:          {Field: "title", Matches: new(string(make([]byte, 1001)))},
		`invalid or unsupported Pe`:         {Field: "title", Matches: new("(?=x)")},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			_, err := m.Compile()
			require.ErrorContains(t, err, fault)
		})
	}
}

func TestParseMatcherReadsTheSyntaxOfAlertmanager(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`severity=critical`:     `severity="critical"`,
		` team != "core" `:      `label.team!="core"`,
		`title=~"disk.*"`:       `title=~"^(?:disk.*)$"`,
		`label.category!~a|b`:   `label.category!~"^(?:a|b)$"`,
		`alertname="say \"x\""`: `label.alertname="say \"x\""`,
		`zone=`:                 `label.zone=""`,
	} {
		m, err := events.ParseMatcher(text)
		require.NoError(t, err, text)
		require.Equal(t, want, m.String())
	}
	for _, text := range []string{"", "severity", "=x", "a b=c", "title=~("} {
		_, err := events.ParseMatcher(text)
		require.Error(t, err, text)
	}
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	t.Parallel()
	rules := compile(t,
		events.Rule{Name: "other team", Match: []events.Matcher{{Field: "label.team", Is: new("web")}}, Mute: true},
		events.Rule{
			Name: "production is worse", When: `labels["Env"] == "prod" and severity == "warning"`,
			Set: events.Changes{Severity: events.Error}, Continue: true,
		},
		events.Rule{
			Name: "disks", Match: []events.Matcher{{Field: "category", Is: new("diskfull")}},
			Set: events.Changes{CategoryFrom: `"disk " + labels.team`, Channel: "storage"},
		},
		events.Rule{Name: "never reached", Mute: true},
	)
	e := disk()
	verdict := rules.Explain(&e, nil, time.Now())
	require.Equal(t, events.Verdict{
		Rules: []string{"production is worse", "disks"}, Channel: "storage",
		Steps: []events.Step{
			{"other team", false, `label.team="web" does not match: it is "core"`},
			{"production is worse", true, "all its conditions match"},
			{"disks", true, "all its conditions match"},
		},
	}, verdict)
	require.Equal(t, []any{events.Error, "disk-core"}, []any{e.Severity, e.Category})

	e = disk()
	e.Labels["team"] = "web"
	require.Equal(t, events.Verdict{
		Rules: []string{"other team"}, Channel: "alerts", Muted: true, MutedBy: "other team",
	}, rules.Apply(&e, nil, time.Now()))
}

func TestExpressionsReadTheFieldsOfMatchers(t *testing.T) {
	t.Parallel()
	for _, field := range events.Fields() {
		matches := events.Matcher{Field: field, Is: new("")}
		compiled, err := matches.Compile()
		require.NoError(t, err, field)
		e := disk()
		rules := compile(t, events.Rule{Name: "r", When: field + ` == ""`, Mute: true})
		require.Equal(t, compiled.Matches(&e, nil), rules.Apply(&e, nil, time.Now()).Muted, field)
	}
}

func TestAnExpressionThatCannotBeEvaluatedDoesNotMatch(t *testing.T) {
	t.Parallel()
	rules := compile(t, events.Rule{Name: "r", When: `int(labels["port"]) > 1024`, Mute: true})
	e := disk()
	verdict := rules.Explain(&e, nil, time.Now())
	require.False(t, verdict.Muted)
	require.Contains(t, verdict.Steps[0].Why, "cannot be evaluated")
	e.Labels["port"] = "8080"
	require.True(t, rules.Apply(&e, nil, time.Now()).Muted)
}

func TestARuleSetsOrRemovesTheStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[events.Status]events.Status{"resolved": events.Resolved, "none": events.NoStatus, "": events.Firing} {
		e := disk()
		compile(t, events.Rule{Name: "r", Set: events.Changes{Status: status}}).Apply(&e, nil, time.Now())
		require.Equal(t, want, e.Status)
	}
}

func TestInvalidRulesAreRefusedWithNameAndField(t *testing.T) {
	t.Parallel()
	for fault, rule := range map[string]events.Rule{
		`rules[0] (r): match[0]: field "x" is unknown`: {Match: []events.Matcher{{Field: "x", Is: new("")}}},
		"when: unknown name colour":                    {When: `colour == "red"`},
		"when: expected bool, but got string":          {When: `title`},
		"when: unexpected token":                       {When: `title ==`},
		"set.category_from: unknown name teem":         {Set: events.Changes{CategoryFrom: "teem"}},
		`set.severity: "bad" is not a severity`:        {Set: events.Changes{Severity: "bad"}},
		"set.hold: 25h0m0s is out of range; use 0s":    {Set: events.Changes{Hold: new(25 * time.Hour)}},
		"set.hold: -1s is out of range; use 0s to 24h": {Set: events.Changes{Hold: new(-time.Second)}},
		`set.status: "open" is not a status`:           {Set: events.Changes{Status: "open"}},
		"set.category: cannot be combined with":        {Set: events.Changes{Category: "a", CategoryFrom: "title"}},
		`during: schedule "nights" does not exist`:     {During: []string{"nights"}},
		`outside: schedule "nights" does not exist`:    {Outside: []string{"nights"}},
		"at most 4096 are allowed":                     {When: string(make([]byte, 5000))},
	} {
		rule.Name = "r"
		_, err := events.NewRules([]events.Rule{rule}, nil)
		require.ErrorContains(t, err, fault)
		require.Less(t, len(err.Error()), 500)
	}
}

func TestRulesApplyDuringOrOutsideTheirSchedules(t *testing.T) {
	t.Parallel()
	var office timeinterval.TimeInterval
	require.NoError(t, yaml.UnmarshalStrict([]byte(`
weekdays: ['monday:friday']
times: [{start_time: '09:00', end_time: '17:00'}]
location: Europe/Berlin
`), &office))
	schedules := []events.Schedule{{Name: "office", Intervals: []timeinterval.TimeInterval{office}}}
	rules, err := events.NewRules([]events.Rule{
		{Name: "at work", During: []string{"office"}, Set: events.Changes{Channel: "work"}},
		{Name: "at home", Outside: []string{"office"}, Mute: true},
	}, schedules)
	require.NoError(t, err)
	for at, want := range map[string]string{
		"2026-11-20T08:30:00Z": "at work", // a Friday, 9:30 in Berlin
		"2026-11-20T16:30:00Z": "at home",
		"2026-11-21T10:00:00Z": "at home",
	} {
		now, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		e := disk()
		require.Equal(t, []string{want}, rules.Apply(&e, nil, now).Rules, at)
	}
}

func TestMappingsDecodeTheBodiesOfOwnSources(t *testing.T) {
	t.Parallel()
	decoder, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{{
		Name:     "snitch",
		When:     `body.type startsWith "snitch."`,
		Category: "body.type",
		Title:    `body.data.snitch.name + " is " + body.data.snitch.status`,
		Severity: `"snitch.missing" == body.type ? "critical" : "info"`, Status: `body.data.snitch.status == "missing" ? "firing" : "resolved"`,
		ID: "body.data.id", Fingerprint: "body.data.snitch.token", StartedAt: "body.timestamp", Link: "body.nowhere.url",
		Labels: []events.MappedLabel{{Name: "env", Value: `header("X-Env")`}, {Name: "tags", Value: `join(body.data.snitch.tags, ",")`}},
	}, {
		Name: "probes", Events: "body.checks", Title: "item.name", Text: "item.output", Category: `item.kind`, Status: "item.ok ? 'ok' : 'down'",
	}}})
	require.NoError(t, err)
	require.Contains(t, decoder.Sources(), "snitch")

	all, err := decoder.Decode(events.Webhook{Header: http.Header{"X-Env": {"prod"}}, Body: []byte(`{
		"type": "snitch.missing",
		"timestamp": "2026-11-20T07:00:00Z",
		"data": {"id": 8306082202796025694, "snitch": {"name": "Backup", "status": "missing", "token": "c2", "tags": ["a", "b"]}}
	}`)})
	require.NoError(t, err)
	started, err := time.Parse(time.RFC3339, "2026-11-20T07:00:00Z")
	require.NoError(t, err)
	require.Equal(t, []events.Event{{
		ID:          "8306082202796025694",
		Source:      "snitch",
		Category:    "snitch.missing",
		Severity:    events.Critical,
		Status:      events.Firing,
		Title:       "Backup is missing",
		Fingerprint: "c2", StartedAt: started, Labels: map[string]string{"env": "prod", "tags": "a,b"},
	}}, all)

	all, err = decoder.Decode(events.Webhook{
		Source: "probes",
		Body:   []byte(`{"checks":[{"name":"a","ok":true,"kind":"http"},{"name":"b","output":"refused","kind":"tcp"}]}`),
	})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []any{"a", events.Resolved, "http"}, []any{all[0].Title, all[0].Status, all[0].Category})
	require.Equal(t, []any{"b", "refused", events.NoStatus}, []any{all[1].Title, all[1].Text, all[1].Status}, "what is missing is no truth")

	_, err = decoder.Decode(events.Webhook{Source: "probes", Body: []byte(`{"checks":[{}]}`)})
	require.ErrorContains(t, err, "event 1 has neither a title nor a text")
	_, err = decoder.Decode(events.Webhook{Source: "probes", Body: []byte(`{"checks":{}}`)})
	require.ErrorContains(t, err, "has no list of events")
}

func TestMappingsReadWhatIsMissingAsEmpty(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`either(body.text.length, body.list[7].name, "none")`: "none",
		`body["some name"].x ?? body["other name"] ?? "none"`: "none",
		`joined(": ", body.a.b, body.text, body.none, "x")`:   "up: x",
		`join(map(body.list, either(.name, "none")), ", ")`:   "first, none",
		`string(body.n) + string(body.none) + "!"`:            "7!",
		`either(body.a.b.c, body.none, body.n)`:               "7",
		`body.list[0].name + body.list[0].name`:               "firstfirst",
		`named("check", body.none.id)`:                        "",
		`named("check", body.n)`:                              "check 7",
		`either(body.none)`:                                   "",
		`joined(": ")`:                                        "",
	} {
		decoder, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{{Name: "m", Title: `"x"`, Text: code}}})
		require.NoError(t, err, code)
		all, err := decoder.Decode(events.Webhook{Source: "m", Body: []byte(`{"n": 7, "text": "up", "list": [{"name": "first"}, {}]}`)})
		require.NoError(t, err, code)
		require.Equal(t, want, all[0].Text, code)
	}
}

func TestMappingsRecogniseBodiesByOneOfSeveralFieldsAndWithinLists(t *testing.T) {
	t.Parallel()
	decoder, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{
		{Name: "probe", Fields: []string{"0.probe.id | probes.1.id", "0.state | state"}, Title: `"probe"`},
	}})
	require.NoError(t, err)
	for body, want := range map[string]string{
		`[{"probe": {"id": 1}, "state": "up"}]`:                   "probe",
		`{"probes": [{}, {"id": 1}], "state": null, "title": ""}`: "probe",
		`{"probes": [{"id": 1}], "state": "up"}`:                  "generic",
		`[{"probe": {"id": 1}, "text": "x"}]`:                     "generic",
		`{"0": {"probe": [1]}, "state": "up", "text": "x"}`:       "generic",
		`{"probes": 5, "state": "up", "text": "x"}`:               "generic",
	} {
		require.Equal(t, want, decoder.SourceOf(events.Webhook{Body: []byte(body)}), body)
	}
}

func TestInvalidMappingsAreRefusedWithNameAndField(t *testing.T) {
	t.Parallel()
	for fault, m := range map[string]events.Mapping{
		`source A b: name: "A b" is not a valid`:  {Name: "A b", Title: "body.x"},
		`source a: fields[1]: "b." is not a path`: {Name: "a", Fields: []string{"a", "c | b."}},
		"source a: when: unexpected token":        {Name: "a", Title: "body.x", When: "body ="},
		"source a: labels.team: unexpected tok":   {Name: "a", Title: "body.x", Labels: []events.MappedLabel{{Name: "team", Value: "("}}},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			_, err := events.NewDecoder(events.Options{Mappings: []events.Mapping{m}})
			require.ErrorContains(t, err, fault)
		})
	}
}

// Every rule is refused, or its evaluation ends.
func FuzzRule(f *testing.F) {
	f.Add(`severity == "critical" and title matches "disk"`, "disk", "a+")
	f.Add(`all(split(text, " "), len(#) > 2)`, `"x" + category`, "(a|b)*c")
	f.Add(`map(1..1000000, #)[0] == 1`, "repeat(title, 1000)", "x{1000}")
	f.Fuzz(func(t *testing.T, when, category, pattern string) {
		rules, err := events.NewRules([]events.Rule{{
			Name: "r", When: when, Set: events.Changes{CategoryFrom: category}, Match: []events.Matcher{{Field: "title", Matches: &pattern}},
		}}, nil)
		if err != nil {
			require.Less(t, len(err.Error()), 3000)
			return
		}
		e := disk()
		rules.Apply(&e, nil, time.Unix(1_700_000_000, 0))
		require.LessOrEqual(t, len(e.Category), 100)
	})
}
