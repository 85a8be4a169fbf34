package notifier

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// DigestSteps are the events of a channel over time: a value for each step.
type DigestSteps struct {
	From                     time.Time // the beginning of the first step
	Step                     time.Duration
	Received, Sent, HeldBack []int64
}

// MaxChartPoints is how many steps a chart shows: Slack allows no more.
const MaxChartPoints = 20

// chart returns Slack's chart block for the steps, or nothing.
func (s *DigestSteps) chart() []slack.Block {
	if s.isEmpty() {
		return nil
	}
	labels := make([]string, len(s.Received))
	for i := range labels {
		labels[i] = s.label(i)
	}
	series := func(name string, values []int64) slack.DataVisualizationDataSeries {
		points := make([]slack.DataVisualizationDataPoint, len(labels))
		for i, label := range labels {
			points[i] = slack.NewDataVisualizationDataPoint(label, float64(values[i]))
		}
		return slack.NewDataVisualizationDataSeries(name, points...)
	}
	axis := slack.NewDataVisualizationAxisConfig(labels...).WithXLabel("UTC")
	return []slack.Block{slack.NewDataVisualizationBlock("Events in steps of "+shortDuration(s.Step), slack.NewDataVisualizationLineChart(
		axis, series("received", s.Received), series("sent", s.Sent), series("held back", s.HeldBack)))}
}

// isEmpty reports whether there is nothing to draw.
func (s *DigestSteps) isEmpty() bool {
	if s == nil || len(s.Received) < 2 || len(s.Received) > MaxChartPoints ||
		len(s.Sent) != len(s.Received) || len(s.HeldBack) != len(s.Received) {
		return true
	}
	return slices.Max(s.Received) == 0
}

// label names a step by its beginning. Labels are unique, as Slack demands: a chart covers a day at most.
func (s *DigestSteps) label(i int) string {
	return s.From.Add(time.Duration(i) * s.Step).UTC().Format("15:04")
}

// text says what the chart shows.
func (s *DigestSteps) text() string {
	if s.isEmpty() {
		return ""
	}
	var received, sent, heldBack int64
	most := 0
	for i := range s.Received {
		received, sent, heldBack = received+s.Received[i], sent+s.Sent[i], heldBack+s.HeldBack[i]
		if s.HeldBack[i] > s.HeldBack[most] {
			most = i
		}
	}
	text := fmt.Sprintf("Since %s UTC: %d received, %d sent, %d held back", s.label(0), received, sent, heldBack)
	if heldBack > 0 {
		text += fmt.Sprintf(", most of them (%d) from %s UTC", s.HeldBack[most], s.label(most))
	}
	return text
}

// shortDuration returns a time in its largest whole unit: "2 min".
func shortDuration(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d s", d/time.Second)
	}
}

// column is a column of the table of categories.
type column struct {
	name  string
	align slack.ColumnAlignment
	value func(DigestCategory) string
	shown func(DigestCategory) bool // for a category; the table leaves out a column that no category shows
}

func counted(name string, n func(DigestCategory) int64) column {
	return column{
		name: name, align: slack.ColumnAlignmentRight,
		value: func(c DigestCategory) string { return strconv.FormatInt(n(c), 10) },
		shown: func(c DigestCategory) bool { return n(c) > 0 },
	}
}

// columns returns those of the table of categories. Numbers are text: some workspaces refuse cells of numbers.
func (d Digest) columns() []column {
	always := func(DigestCategory) bool { return true }
	all := []column{
		{name: "Category", value: DigestCategory.label, shown: always},
		{name: "Held back", align: slack.ColumnAlignmentRight, shown: always, value: func(c DigestCategory) string {
			return strconv.FormatInt(sum(c.Dropped), 10)
		}},
		counted("Expired", func(c DigestCategory) int64 { return sum(c.Expired) }),
		{name: "Severity", value: DigestCategory.severities, shown: always},
		counted("Firing", func(c DigestCategory) int64 { return c.Firing }),
		counted("Resolved", func(c DigestCategory) int64 { return c.Resolved }),
	}
	if d.Steps != nil {
		all = slices.Insert(all, 2, column{
			name: "Sent", align: slack.ColumnAlignmentRight, shown: always,
			value: func(c DigestCategory) string { return strconv.FormatInt(c.Posted, 10) },
		})
	}
	return slices.DeleteFunc(all, func(c column) bool { return !slices.ContainsFunc(d.Categories, c.shown) })
}

// table returns Slack's table block of the categories, or nothing where a line says as much.
func (d Digest) table() []slack.Block {
	if len(d.Categories) < 2 {
		return nil
	}
	table := slack.NewTableBlock("")
	columns := d.columns()
	cells := make([]slack.TableCell, len(columns))
	settings := make([]slack.ColumnSetting, len(columns))
	for i, c := range columns {
		cells[i] = slack.NewTableRawTextCell(c.name)
		settings[i] = slack.ColumnSetting{Align: c.align}
		if c.align == "" {
			settings[i].Align = slack.ColumnAlignmentLeft
		}
	}
	table.AddRow(cells...)
	for _, category := range d.Categories[:min(len(d.Categories), maxDigestCategories)] {
		for i, c := range columns {
			cells[i] = slack.NewTableRawTextCell(c.value(category))
		}
		table.AddRow(cells...)
	}
	if more := len(d.Categories) - maxDigestCategories; more > 0 {
		for i := range cells {
			cells[i] = slack.NewTableRawTextCell("…")
		}
		cells[0] = slack.NewTableRawTextCell(fmt.Sprintf("… and %d more", more))
		table.AddRow(cells...)
	}
	return []slack.Block{table.WithColumnSettings(settings...)}
}

// dataText says what chart and table show.
func (d Digest) dataText() string {
	var lines []string
	if text := d.Steps.text(); text != "" {
		lines = append(lines, text)
	}
	for _, c := range d.Categories[:min(len(d.Categories), maxDigestCategories)] {
		lines = append(lines, c.line(d.Steps != nil))
	}
	if more := len(d.Categories) - maxDigestCategories; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more categories", more))
	}
	return strings.Join(lines, "\n")
}

// label names a category, and marks one that was not heard.
func (c DigestCategory) label() string {
	if c.Silent {
		return "🔇 " + truncateLabel(c.Name)
	}
	return truncateLabel(c.Name)
}

// severities returns the counts of a category by severity, the most severe first.
func (c DigestCategory) severities() string {
	var parts []string
	for _, severity := range severityOrder {
		if n := c.Dropped[severity] + c.Expired[severity]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", styles[severity].icon, n))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, "  ")
}

// line returns a category with its counts, as text.
func (c DigestCategory) line(sentKnown bool) string {
	text := escaped(c.label(), maxLabelShown) + "  " + c.severities()
	if n := sum(c.Expired); n > 0 {
		text += fmt.Sprintf("  ⌛ %d expired", n)
	}
	if c.Firing > 0 {
		text += fmt.Sprintf(" · %d firing", c.Firing)
	}
	if c.Resolved > 0 {
		text += fmt.Sprintf(" · %d resolved", c.Resolved)
	}
	if sentKnown {
		text += fmt.Sprintf(" · %d sent", c.Posted)
	}
	return text
}
