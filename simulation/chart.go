package simulation

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// The sizes of a chart, in its own units.
const (
	chartWidth  = 960
	plotLeft    = 70
	plotRight   = 930
	titleHeight = 26
	axisHeight  = 42
)

// chartStyle colours charts for light and dark pages. The colours can be told apart by people who see no red or green.
const chartStyle = `
svg { font: 13px system-ui, sans-serif; fill: #1d1c1d; --line: #d5d5d8 }
.c0 { --run: #6b6f76 } .c1 { --run: #0060a8 } .c2 { --run: #c26a00 } .c3 { --run: #a0468c } .c4 { --run: #00806a }
.c5 { --run: #8a7400 } .c6 { --run: #3f51b5 } .c7 { --run: #7a4a2b }
.title { font-weight: 600 } .axis { fill: #5b5d63; font-size: 12px } .grid { stroke: var(--line) }
.area { fill: var(--run); fill-opacity: .75 } .line { stroke: var(--run); stroke-width: 2; fill: none } .name { fill: var(--run) }
@media (prefers-color-scheme: dark) {
svg { fill: #e8e8ea; --line: #3a3d44 } .axis { fill: #a9acb4 }
.c0 { --run: #9a9ea6 } .c1 { --run: #5db3f5 } .c2 { --run: #f2a54a } .c3 { --run: #e29ad0 } .c4 { --run: #4fd0b5 }
.c5 { --run: #d8c24a } .c6 { --run: #9fa8ff } .c7 { --run: #c99a78 }
}`

// chart is a drawing of panels below each other, over the same time.
type chart struct {
	strings.Builder
	length time.Duration // of the time axis
	step   time.Duration
	y      float64 // where the next panel begins
}

// panel is one drawing area.
type panel struct {
	title  string
	height float64
	top    float64 // the largest value
}

// series are the values of each step, drawn in the colour of a run.
type series struct {
	values []int64
	run    int // its number, from 1; 0 = what all runs received
	name   string
}

// begin draws the title, the scale and the grid of a panel, and returns the y of a value.
func (c *chart) begin(p panel) func(value float64) float64 {
	top, bottom := c.y+titleHeight, c.y+titleHeight+p.height
	scale := niceScale(p.top)
	y := func(value float64) float64 { return bottom - value/scale.top*p.height }
	fmt.Fprintf(c, `<text class="title" x="%d" y="%.0f">%s</text>`, plotLeft, c.y+16, template.HTMLEscapeString(p.title))
	for value := 0.0; value <= scale.top; value += scale.step {
		fmt.Fprintf(c, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, plotLeft, plotRight, y(value), y(value))
		fmt.Fprintf(c, `<text class="axis" x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft-8, y(value)+4, group(int64(value)))
	}
	for at := time.Duration(0); at <= c.length; at += tickOf(c.length) {
		fmt.Fprintf(c, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, c.x(at), c.x(at), top, bottom)
	}
	c.y = bottom + 10
	return y
}

func (c *chart) x(at time.Duration) float64 {
	return plotLeft + float64(plotRight-plotLeft)*float64(at)/float64(c.length)
}

// area draws a panel with one series as an area.
func (c *chart) area(p panel, s series) {
	y := c.begin(p)
	fmt.Fprintf(c, `<path class="area c%d" d="M%d %.1f`, s.run%8, plotLeft, y(0))
	for i, n := range s.values {
		from, to := time.Duration(i)*c.step, time.Duration(i+1)*c.step
		if n > 0 {
			fmt.Fprintf(c, "M%.1f %.1fV%.1fH%.1fV%.1fZ", c.x(from), y(0), y(float64(n)), c.x(min(to, c.length)), y(0))
		}
	}
	c.WriteString(`"/>`)
}

// lines draws a panel with the running totals of series, and a name at the end of each.
func (c *chart) lines(p panel, all []series) {
	y := c.begin(p)
	for _, s := range all {
		fmt.Fprintf(c, `<path class="line c%d" stroke-dasharray="%s" d="M%d %.1f`, s.run%8, dashes[s.run%len(dashes)], plotLeft, y(0))
		total := int64(0)
		for i, n := range s.values {
			total += n
			fmt.Fprintf(c, "L%.1f %.1f", c.x(min(time.Duration(i+1)*c.step, c.length)), y(float64(total)))
		}
		fmt.Fprintf(c, `H%d"/><text class="name title c%d" x="%d" y="%.1f" text-anchor="start">%s</text>`,
			plotRight, s.run%8, plotRight+4, y(float64(total))+4, template.HTMLEscapeString(s.name))
	}
}

// dashes distinguish lines also without their colours.
var dashes = [...]string{"none", "none", "7 3", "2 3", "10 3 2 3"}

// writeTo writes the chart with its time axis. With style it is a file of its own.
func (c *chart) writeTo(out io.Writer, style bool) error {
	for at := time.Duration(0); at <= c.length; at += tickOf(c.length) {
		fmt.Fprintf(c, `<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, c.x(at), c.y+6, tickText(at))
	}
	fmt.Fprintf(c, `<text class="axis" x="%d" y="%.1f" text-anchor="end">time since the first event</text>`, plotRight, c.y+24)
	height := c.y + axisHeight - 10
	css := ""
	if style {
		css = "<style>" + chartStyle + "</style>"
	}
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" role="img">%s%s</svg>`,
		chartWidth, height, css, c.String())
	return err
}

// scale is a scale with round steps.
type scale struct{ top, step float64 }

// niceScale returns the scale of whole numbers that shows values up to a maximum in about four steps.
func niceScale(most float64) scale {
	rough := max(most, 1) / 4
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if factor*power >= rough {
			step = factor * power
			break
		}
	}
	step = max(1, math.Ceil(step))
	return scale{top: math.Ceil(max(most, 1)/step) * step, step: step}
}

// tickOf returns the time between two ticks of an axis of a length: the shortest round one that makes no more than 12.
func tickOf(length time.Duration) time.Duration {
	const day = 24 * time.Hour
	const ms = time.Millisecond
	for _, tick := range []time.Duration{
		ms, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
	} {
		if length <= 12*tick {
			return tick
		}
	}
	return (length/12 + day).Truncate(day)
}

// tickText writes the time of a tick with its unit.
func tickText(at time.Duration) string {
	switch {
	case at == 0:
		return "0"
	case at%time.Hour == 0:
		return strconv.Itoa(int(at/time.Hour)) + " h"
	case at%time.Minute == 0 && at > time.Hour:
		return fmt.Sprintf("%d h %d min", at/time.Hour, at%time.Hour/time.Minute)
	case at%time.Minute == 0:
		return strconv.Itoa(int(at/time.Minute)) + " min"
	case at%time.Second == 0 && at > time.Minute:
		return fmt.Sprintf("%d min %d s", at/time.Minute, at%time.Minute/time.Second)
	case at%time.Second == 0:
		return strconv.Itoa(int(at/time.Second)) + " s"
	default:
		return strconv.FormatFloat(at.Seconds(), 'f', -1, 64) + " s"
	}
}
