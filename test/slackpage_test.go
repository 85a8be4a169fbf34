//go:build page

package test

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
)

// shown is a message on the page.
type shown struct {
	notifier.Message
	at      string // when it was posted; "" = 14:12
	isReply bool   // in the thread of the message above
	isOwn   bool   // only the user who clicked sees it
}

// slackPage is a page that shows messages as Slack does, made from their blocks: enough to judge what a reader sees first.
func slackPage(t *testing.T, messages []shown) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(slackPageHead)
	for _, m := range messages {
		b.WriteString(`<article class="` + map[bool]string{true: "reply"}[m.isReply] + `"><i class="avatar">r</i><div>`)
		if m.isOwn {
			b.WriteString(`<p class="context">👁 Only visible to you</p>`)
		}
		fmt.Fprintf(&b, `<p class="who"><b>relay</b> <small>APP</small> <time>%s</time></p>`, cmp.Or(m.at, "14:12"))
		if m.Wide {
			b.WriteString(`<div class="wide">`)
		} else {
			b.WriteString("<p>" + slackHTML(m.Text) + "</p>")
			fmt.Fprintf(&b, `<div class="attachment" style="border-color:%s">`, cmp.Or(m.Color, "transparent"))
		}
		for _, block := range m.Blocks {
			b.WriteString(slackBlock(t, block))
		}
		b.WriteString("</div></div></article>\n")
	}
	return b.String()
}

// slackBlock shows a block.
func slackBlock(t *testing.T, block slack.Block) string {
	t.Helper()
	switch block := block.(type) {
	case *slack.SectionBlock:
		text := "<p>" + slackHTML(block.Text.Text) + "</p>"
		if block.Accessory != nil {
			return `<div class="section">` + text + slackElement(t, block.Accessory.ButtonElement) + "</div>"
		}
		return text
	case *slack.ContextBlock:
		var b strings.Builder
		for _, element := range block.ContextElements.Elements {
			b.WriteString(slackHTML(element.(*slack.TextBlockObject).Text))
		}
		return `<p class="context">` + b.String() + "</p>"
	case *slack.ImageBlock:
		return `<img src="` + picturedGraph + `" alt="` + html.EscapeString(block.AltText) + `">`
	case *slack.ActionBlock:
		var b strings.Builder
		for _, element := range block.Elements.ElementSet {
			b.WriteString(slackElement(t, element))
		}
		return `<div class="actions">` + b.String() + "</div>"
	case *slack.DataVisualizationBlock:
		return slackChart(t, block)
	case *slack.TableBlock:
		return slackTable(t, block)
	default:
		require.Fail(t, "a block that this page does not know", "%T", block)
		return ""
	}
}

// slackElement shows a button or a menu.
func slackElement(t *testing.T, element slack.BlockElement) string {
	t.Helper()
	switch element := element.(type) {
	case *slack.ButtonBlockElement:
		return "<button>" + html.EscapeString(element.Text.Text) + "</button>"
	case *slack.SelectBlockElement:
		return `<button class="menu">` + html.EscapeString(element.Placeholder.Text) + "<span>⌄</span></button>"
	default:
		require.Fail(t, "an element that this page does not know", "%T", element)
		return ""
	}
}

// slackTable shows a table.
func slackTable(t *testing.T, table *slack.TableBlock) string {
	t.Helper()
	var b strings.Builder
	for i, row := range table.Rows {
		b.WriteString("<tr>")
		for j, cell := range row {
			tag := map[bool]string{true: "th", false: "td"}[i == 0]
			fmt.Fprintf(&b, `<%s style="text-align:%s">%s</%[1]s>`, tag, table.ColumnSettings[j].Align,
				html.EscapeString(cell.(*slack.TableRawTextCell).Text))
		}
		b.WriteString("</tr>")
	}
	return "<table>" + b.String() + "</table>"
}

// slackChart shows a chart of lines.
func slackChart(t *testing.T, block *slack.DataVisualizationBlock) string {
	t.Helper()
	const width, height, left, bottom = 560, 150, 30, 20
	chart, ok := block.Chart.(*slack.DataVisualizationLineChart)
	require.True(t, ok, "%T", block.Chart)
	most := 1.0
	for _, series := range chart.Series {
		for _, point := range series.Data {
			most = max(most, point.Value)
		}
	}
	n := len(chart.AxisConfig.Categories)
	x := func(i int) float64 { return left + float64(i)*(width-left-15)/float64(n-1) }
	y := func(value float64) float64 { return height - bottom - value/most*(height-bottom-10) }
	var lines, legend strings.Builder
	for _, value := range []float64{0, most / 2, most} {
		fmt.Fprintf(&lines, `<path d="M%d %.1fH%d" class="grid"/><text x="0" y="%.1f">%.0f</text>`, left, y(value), width, y(value)+4, value)
	}
	for i, label := range chart.AxisConfig.Categories {
		if i%3 == 0 {
			fmt.Fprintf(&lines, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(i), height-4, label)
		}
	}
	for i, series := range chart.Series {
		color := []string{"#1264a3", "#2eb67d", "#e01e5a"}[i%3]
		path := ""
		for j, point := range series.Data {
			path += fmt.Sprintf("%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[j == 0], x(j), y(point.Value))
		}
		fmt.Fprintf(&lines, `<path d="%s" stroke="%s" stroke-width="2.5" fill="none"/>`, path, color)
		fmt.Fprintf(&legend, `<i class="key" style="background:%s"></i>%s `, color, html.EscapeString(series.Name))
	}
	return fmt.Sprintf(`<figure><b>%s</b><svg width="%d" height="%d">%s</svg><p class="context">%s</p></figure>`,
		html.EscapeString(block.Title), width, height, lines.String(), legend.String())
}

var (
	slackFences = regexp.MustCompile("(?s)```\n?(.*?)\n?```")
	slackTimes  = regexp.MustCompile(`<!date\^(\d+)\^([^|^]*)\|[^>]*>`)
	slackLinks  = regexp.MustCompile(`<(https?://[^|>]*)\|([^>]*)>`)
	slackCode   = regexp.MustCompile("`([^`\n]+)`")
	slackBold   = regexp.MustCompile(`(^|[^\w*])\*([^*\n]+)\*`)
	slackItalic = regexp.MustCompile(`(^|[^\w_])_([^_\n]+)_`)
	slackCalled = regexp.MustCompile(`<!(?:subteam\^)?(here|channel|SONCALL)>`)
)

// slackHTML shows mrkdwn.
func slackHTML(mrkdwn string) string {
	text := slackTimes.ReplaceAllStringFunc(mrkdwn, func(found string) string {
		parts := slackTimes.FindStringSubmatch(found)
		seconds, _ := strconv.ParseInt(parts[1], 10, 64)
		at := time.Unix(seconds, 0).UTC()
		return strings.NewReplacer("{time}", at.Format("15:04"), "{date_short_pretty}", "today").Replace(parts[2])
	})
	text = slackCalled.ReplaceAllString(text, `<mark>@$1</mark>`)
	text = strings.ReplaceAll(text, "@SONCALL", "@on-call")
	text = slackLinks.ReplaceAllString(text, `<a href="$1">$2</a>`)
	text = slackFences.ReplaceAllString(text, "<pre>$1</pre>")
	text = slackCode.ReplaceAllString(text, "<code>$1</code>")
	text = slackBold.ReplaceAllString(text, "$1<b>$2</b>")
	text = slackItalic.ReplaceAllString(text, "$1<em>$2</em>")
	return strings.ReplaceAll(text, "\n", "<br>")
}

// picturedGraph stands for the picture that Slack would load.
const picturedGraph = "data:image/svg+xml," +
	"%3Csvg xmlns='http://www.w3.org/2000/svg' width='360' height='110'%3E%3Crect width='360' height='110' fill='%23f6f6fa'/%3E" +
	"%3Cpath d='M0 38H360' stroke='%23d3302f' stroke-dasharray='5 4'/%3E" +
	"%3Cpath d='M0 90L40 86L80 92L120 84L160 70L200 44L240 28L280 22L320 26L360 18' fill='none'" +
	" stroke='%23632ca6' stroke-width='3'/%3E%3C/svg%3E"

const slackPageHead = `<!doctype html><meta charset="utf-8"><title>Messages</title><style>
:root { color-scheme: light dark; --ink: #1d1c1d; --soft: #616061; --page: #fff; --line: #ddd; --link: #1264a3; --code: #e01e5a;
  --fill: #f8f8f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #d1d2d3; --soft: #ababad; --page: #1a1d21; --line: #424448; --link: #1d9bd1; --code: #e8912d; --fill: #222529; } }
body { font: 15px/1.47 Lato, "Helvetica Neue", "Liberation Sans", Arial, sans-serif, "Noto Color Emoji"; color: var(--ink);
  background: var(--page); margin: 0; padding: 14px 18px; width: 664px; }
article { display: grid; grid-template-columns: 36px 1fr; gap: 10px; margin-bottom: 18px; }
.avatar { width: 36px; height: 36px; border-radius: 6px; background: #2f6fed; color: #fff; font: bold 20px/36px sans-serif;
  text-align: center; }
p { margin: 0; overflow-wrap: anywhere; } .who small { background: var(--line); border-radius: 2px; padding: 0 3px; font-size: 10px; }
time { color: var(--soft); font-size: 12px; } a { color: var(--link); text-decoration: none; }
mark { background: #f2c74466; color: var(--link); }
.attachment { border-left: 4px solid; border-radius: 4px; padding: 2px 0 2px 12px; margin-top: 4px;
  display: grid; gap: 5px; justify-items: start; }
.context { color: var(--soft); font-size: 13px; } .context b { color: var(--ink); }
.reply { margin-left: 46px; } .section { display: flex; gap: 12px; justify-content: space-between; align-items: start; width: 100%; }
.section button { flex: none; } .wide { display: grid; gap: 8px; } .actions { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 3px; }
button { font: bold 13px/1 Lato, "Liberation Sans", Arial, sans-serif; color: var(--ink); background: var(--page);
  border: 1px solid var(--line); border-radius: 8px; padding: 7px 11px; } .menu span { margin-left: 14px; }
table { border-collapse: collapse; font-size: 14px; } td, th { border: 1px solid var(--line); padding: 4px 12px; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; } svg { display: block; margin-top: 6px; }
svg text { font-size: 11px; fill: var(--soft); } .grid { stroke: var(--line); }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin: 0 4px 0 0; } .key ~ .key { margin-left: 12px; }
code, pre { font: 12px/1.5 monospace; background: var(--fill); border: 1px solid var(--line); border-radius: 3px; }
code { color: var(--code); padding: 1px 3px; } pre { margin: 4px 0; padding: 6px; } img { border-radius: 6px; max-width: 360px; }
</style>
`
