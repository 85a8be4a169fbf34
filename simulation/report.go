package simulation

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"regexp"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

//go:embed report.html
var reportPage string

// reportTemplate escapes the text of a trace.
var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"seconds": seconds}).Parse(reportPage))

// Report are the results to show side by side. All runs are of the same trace.
type Report struct {
	Title string // of the page, for example the name of the trace
	Runs  []Result
}

// WriteHTML writes a page with charts over time and a table of the categories. The page loads no other files.
func (r Report) WriteHTML(out io.Writer) error {
	flow, err := r.flow()
	if err != nil {
		return err
	}
	sent, err := r.sent()
	if err != nil {
		return err
	}
	err = reportTemplate.Execute(out, map[string]any{
		"Title": r.Title, "Runs": r.Runs, "Names": r.categories(),
		"Flow": template.HTML(inline(flow)), "Sent": template.HTML(inline(sent)), //nolint:gosec // drawn here
	})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// WriteSVG writes the chart of received and sent events over time.
func (r Report) WriteSVG(out io.Writer) error {
	flow, err := r.flow()
	if err != nil {
		return err
	}
	if _, err := out.Write(flow); err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}

// maxRows is how many categories a report lists.
const maxRows = 200

// row is a category in each run.
type row struct {
	Category string
	Runs     []*Category // nil where the run has none
}

// categories returns the busiest categories, in the order of the first run.
func (r Report) categories() []row {
	if len(r.Runs) == 0 {
		return nil
	}
	rows := make([]row, 0, min(maxRows, len(r.Runs[0].Categories)))
	for _, c := range r.Runs[0].Categories[:min(maxRows, len(r.Runs[0].Categories))] {
		one := row{Category: c.Category}
		for i := range r.Runs {
			one.Runs = append(one.Runs, r.Runs[i].category(c.Category))
		}
		rows = append(rows, one)
	}
	return rows
}

// flow draws the received events and those that each setting sent, in each step.
func (r Report) flow() ([]byte, error) {
	p := newPlot("events "+r.per(), r.Runs)
	if len(r.Runs) > 0 {
		received, err := plotter.NewLine(points(r.Runs[0].ReceivedPerStep, r.Runs[0].Step, false))
		if err != nil {
			return nil, fmt.Errorf("draw: %w", err)
		}
		received.FillColor, received.Color, received.StepStyle = color.Gray{0xe4}, color.Gray{0xb0}, plotter.PostStep
		p.Add(received)
		p.Legend.Add("received", received)
	}
	return r.draw(p, false)
}

// sent draws the total that each setting has sent.
func (r Report) sent() ([]byte, error) {
	p := newPlot("sent, in all", r.Runs)
	p.Legend.Left = true // the lines end at the right, at the top
	return r.draw(p, true)
}

func (r Report) per() string {
	if len(r.Runs) == 0 {
		return ""
	}
	return fmt.Sprintf("in %g min", r.Runs[0].Step.Minutes())
}

func newPlot(y string, runs []Result) *plot.Plot {
	p := plot.New()
	p.Y.Label.Text, p.X.Label.Text = y, "minutes"
	p.BackgroundColor = color.White
	p.Legend.Top, p.Legend.Padding = true, vg.Points(4)
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	if len(runs) > 0 {
		p.X.Max = float64(len(runs[0].ReceivedPerStep)) * runs[0].Step.Minutes()
	}
	return p
}

func (r Report) draw(p *plot.Plot, cumulative bool) ([]byte, error) {
	for i, run := range r.Runs {
		line, err := plotter.NewLine(points(run.PostedPerStep, run.Step, cumulative))
		if err != nil {
			return nil, fmt.Errorf("draw: %w", err)
		}
		line.Color, line.Dashes, line.Width, line.StepStyle = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.5), plotter.PostStep
		p.Add(line)
		p.Legend.Add("sent, "+run.Name, line)
	}
	canvas := vgsvg.New(9*vg.Inch, 4*vg.Inch)
	p.Draw(draw.New(canvas))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	return svg.Bytes(), nil
}

func points(counts []int64, step time.Duration, cumulative bool) plotter.XYs {
	all, total := make(plotter.XYs, 0, len(counts)+1), int64(0)
	for i, n := range counts {
		if total += n; cumulative {
			n = total
		}
		all = append(all, plotter.XY{X: float64(i) * step.Minutes(), Y: float64(n)})
	}
	return append(all, plotter.XY{X: float64(len(counts)) * step.Minutes(), Y: all[len(all)-1].Y})
}

// prolog is the part of an SVG file before the drawing.
var prolog = regexp.MustCompile(`(?s)^.*?(<svg)`)

func inline(svg []byte) []byte { return prolog.ReplaceAll(svg, []byte("$1")) }

// seconds formats a number of seconds as a duration.
func seconds(s float64) string {
	return (time.Duration(s) * time.Second).String()
}
