package events_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// slackBlocks are sections with so much text each.
func slackBlocks(n, each int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"type":"section","block_id":"b%d","text":{"type":"mrkdwn","text":%q}}`, i, strings.Repeat("x", each))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// However long a webhook is, the encoding of its events is bounded, and the events have their original size.
func TestLongEventsAreShortened(t *testing.T) {
	t.Parallel()
	labels := map[string]string{}
	for i := range 64 {
		labels[fmt.Sprintf("l%03d<<<<", i)] = strings.Repeat("<", 1000)
	}
	wide, err := json.Marshal(map[string]any{
		"id": strings.Repeat("<", 256), "fingerprint": strings.Repeat("<", 256), "title": strings.Repeat("<", 5000),
		"text":   strings.Repeat("\u2028", 50_000),
		"labels": labels, "link": "https://x.example/" + strings.Repeat("&", 1900),
	})
	require.NoError(t, err)
	for name, c := range map[string]struct{ source, body, title string }{
		"blocks":      {"slack", `{"text":"Disk full","blocks":` + slackBlocks(300, 3000) + `}`, "Disk full"},
		"attachments": {"slack", `{"text":"Disk full","attachments":[{"text":"` + strings.Repeat("y", 900_000) + `"}]}`, "Disk full"},
		"structure only": {
			"slack",
			`{"text":"Disk full","blocks":[` + strings.TrimSuffix(strings.Repeat(`{"type":"divider","a":[0,0,0,0,0,0,0,0,0,0]},`, 20_000),
				",") + `]}`, "Disk full",
		},
		"one block without end": {
			"slack", `{"text":"Disk full","blocks":[{"type":"x","a":[` + strings.Repeat("0,", 100_000) + `0]}]}`,
			"Disk full",
		},
		"a thread without end": {"slack", `{"text":"Disk full","thread_ts":"` + strings.Repeat("1", 100_000) + `"}`, "Disk full"},
		"all that is wide":     {"generic", string(wide), strings.Repeat("<", 80)},
	} {
		for limit := events.MinEvent; limit <= 64<<10; limit *= 2 {
			decoder, err := events.NewDecoder(events.Options{Limits: events.Limits{Event: limit}})
			require.NoError(t, err)
			all, err := decoder.Decode(events.Webhook{Source: c.source, Body: []byte(c.body)})
			require.NoError(t, err, name)
			e := all[0]
			encoded, err := json.Marshal(e)
			require.NoError(t, err)
			require.LessOrEqual(t, len(encoded), limit, name)
			require.True(t, utf8.Valid(encoded))
			require.True(t, strings.HasPrefix(e.Title, c.title), name)
			if name != "a thread without end" && limit <= 32<<10 {
				require.Greater(t, e.Shortened, limit, name)
			}
		}
	}
	all, err := events.Decode(events.Webhook{Body: wide})
	require.NoError(t, err)
	require.Len(t, all[0].Labels, 64, "each label keeps its part")
}

// Blocks and attachments beyond Slack's limits are removed.
func TestBlocksAndAttachmentsAreCutToSlacksLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body      string
		blocks    int
		shortened bool
	}{
		"as many as fit":       {`{"blocks":` + slackBlocks(50, 200) + `}`, 50, false},
		"one too many":         {`{"blocks":` + slackBlocks(51, 20) + `}`, 50, true},
		"too much text":        {`{"blocks":` + slackBlocks(10, 2500) + `}`, 4, true},
		"attachments":          {`{"attachments":[{"text":"x y"}` + strings.Repeat(`,{"text":"x y"}`, 100) + `]}`, 100, true},
		"blocks in a string":   {`{"blocks":` + fmt.Sprintf("%q", slackBlocks(60, 20)) + `}`, 50, true},
		"a first one too long": {`{"blocks":` + slackBlocks(1, 13_000) + `}`, 0, true},
	} {
		all, err := events.Decode(events.Webhook{Source: "slack", Body: []byte(c.body)})
		require.NoError(t, err, name)
		var list []map[string]any
		if c.blocks > 0 {
			require.NoError(t, json.Unmarshal(append(all[0].Slack.Blocks, all[0].Slack.Attachments...), &list), name)
		}
		require.Len(t, list, c.blocks, name)
		require.Equal(t, c.shortened, all[0].Shortened > 0, name)
		require.NotEmpty(t, all[0].Title+all[0].Text, name)
		require.NotNil(t, all[0].Slack)
	}
}

func TestTimeForManySmallTextsGrowsLinearly(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, `,{"text":"t%d"}`, i)
	}
	all, err := events.Decode(events.Webhook{
		Source: "slack",
		Body:   []byte(`{"blocks":[{"type":"section","fields":[{"text":"a b c d"}` + b.String() + `]}]}`),
	})
	require.NoError(t, err)
	require.Equal(t, "a b c d", all[0].Title)
	require.Positive(t, all[0].Shortened)
}

func TestNameOfAGroupIsBounded(t *testing.T) {
	t.Parallel()
	decode := func(name string) string {
		all, err := events.Decode(events.Webhook{Body: []byte(`{"groupKey":"` + name + `","alerts":[{"labels":{"a":"1"}}]}`)})
		require.NoError(t, err)
		return all[0].Group
	}
	long := strings.Repeat("x", 100_000)
	require.Equal(t, "short", decode("short"))
	require.Len(t, decode(long), 64)
	require.NotEqual(t, decode(long), decode(long+"y"))
}
