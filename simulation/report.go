package simulation

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed report.html
var reportPage string

// reportTemplate escapes the text of a trace.
var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"words": inWords, "number": group, "add": func(a, b int) int { return a + b },
}).Parse(reportPage))

// Report are the results to show side by side. All runs are of the same trace.
type Report struct {
	Title  string   `json:"title"` // of the page, for example the name of the trace
	Runs   []Result `json:"runs"`
	Advice *Advice  `json:"advice,omitempty"` // nil = none was asked for
}

// WriteHTML writes a page with a verdict, charts over time and a table of the categories. The page loads no other files.
func (r Report) WriteHTML(out io.Writer) error {
	var flow, total bytes.Buffer
	if err := r.flow().writeTo(&flow, false); err != nil {
		return err
	}
	if err := r.total().writeTo(&total, false); err != nil {
		return err
	}
	err := reportTemplate.Execute(out, map[string]any{
		"Title": r.Title, "Runs": r.Runs, "Advice": r.Advice, "Names": r.categories(), "Verdicts": r.verdicts(), "Step": r.stepInWords(),
		"HasProblems": slices.ContainsFunc(r.Runs, func(run Result) bool { return run.Problems > 0 }),
		"Style":       template.CSS(chartStyle),                                             //nolint:gosec // a constant
		"Flow":        template.HTML(flow.String()), "Total": template.HTML(total.String()), //nolint:gosec // drawn here
	})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// WriteSVG writes the chart of received events and posted messages over time.
func (r Report) WriteSVG(out io.Writer) error {
	if err := r.flow().writeTo(out, true); err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}

// maxRows is how many categories a report lists.
const maxRows = 200

// row is a category in each run.
type row struct {
	Category string
	Received int64
	Runs     []*Category // nil where the run has none
}

// categories returns the busiest categories, in the order of the first run.
func (r Report) categories() []row {
	if len(r.Runs) == 0 {
		return nil
	}
	first := r.Runs[0].Categories
	rows := make([]row, 0, min(maxRows, len(first)))
	for _, c := range first[:min(maxRows, len(first))] {
		one := row{Category: c.Category, Received: c.Received}
		for i := range r.Runs {
			one.Runs = append(one.Runs, r.Runs[i].category(c.Category))
		}
		rows = append(rows, one)
	}
	return rows
}

// step is the step of all charts, and length the time that they show: that of the trace, and of what was posted after it.
func (r Report) step() (step, length time.Duration) {
	step = stepOf(0)
	steps := 1
	for i := range r.Runs {
		step = r.Runs[i].Step
		steps = max(steps, len(r.Runs[i].PostedPerStep), len(r.Runs[i].ReceivedPerStep))
	}
	return step, time.Duration(steps) * step
}

// stepInWords is the step as it is said after "each".
func (r Report) stepInWords() string {
	step, _ := r.step()
	for _, one := range []unit{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if step == one.length {
			return one.name
		}
	}
	return inWords(step.Seconds())
}

func (r Report) newChart() *chart {
	step, length := r.step()
	return &chart{step: step, length: length}
}

// flow draws the received events, and below them the messages that each run posted, all of these on one scale.
func (r Report) flow() *chart {
	c := r.newChart()
	if len(r.Runs) == 0 {
		return c
	}
	per := r.stepInWords()
	received := r.Runs[0].ReceivedPerStep
	c.area(panel{title: "Events received in each " + per, height: 110, top: float64(slices.Max(received))}, series{values: received})
	top := int64(0)
	for i := range r.Runs {
		top = max(top, slices.Max(r.Runs[i].PostedPerStep))
	}
	for i := range r.Runs {
		title := fmt.Sprintf("%d. %s: messages posted in each %s", i+1, r.Runs[i].Name, per)
		c.area(panel{title: title, height: 80, top: float64(top)}, series{values: r.Runs[i].PostedPerStep, run: i + 1})
	}
	return c
}

// total draws how many messages each run posted up to each time.
func (r Report) total() *chart {
	c := r.newChart()
	var all []series
	top := int64(0)
	for i := range r.Runs {
		all = append(all, series{values: r.Runs[i].PostedPerStep, run: i + 1, name: fmt.Sprint(i + 1)})
		top = max(top, r.Runs[i].Messages)
	}
	c.lines(panel{title: "Messages posted so far", height: 260, top: float64(top)}, all)
	return c
}
