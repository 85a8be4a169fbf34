package ratelimit_test

import (
	"bytes"
	"fmt"
	"image/color"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	"slackrelay/store/storetest"
	"slackrelay/test/golden"
)

// The figures and tables of docs/strategies.md are made here, with the engine in memory on a clock of its own.
// make goldens rewrites them; a test fails where they are stale.

// arrivals is one and the same burst for every strategy: one event, 40 in the 10 s before 60 s, then two a second.
func arrivals() []time.Duration {
	all := []time.Duration{5 * time.Second}
	for i := range 40 {
		all = append(all, 50*time.Second+time.Duration(i)*250*time.Millisecond)
	}
	for at := 60 * time.Second; at < 4*time.Minute; at += 500 * time.Millisecond {
		all = append(all, at)
	}
	return all
}

// letThrough is when a strategy admits of the arrivals, with 10 per 60 s.
func letThrough(t *testing.T, s ratelimit.Strategy) []time.Duration {
	t.Helper()
	begin := storetest.StartTime.Truncate(time.Minute)
	c := &storetest.Clock{T: begin}
	data := memory.NewData(memory.DataOptions{Now: c.Now})
	b := storetest.Fixture{Limiter: memory.New(data, memory.Options{})}
	spec := ratelimit.LevelSpec{Name: "channel", Strategy: s, Windows: []ratelimit.Window{{Limit: 10, Per: time.Minute}}}
	level := store.ChannelLevel(spec, "plot")
	var admitted []time.Duration
	settled := begin
	for i, at := range arrivals() {
		c.Advance(begin.Add(at).Sub(c.Now()))
		if s.Kind == ratelimit.Backlog { // one message leaves every 3 s
			for ; c.Now().Sub(settled) >= 3*time.Second; settled = settled.Add(3 * time.Second) {
				data.Do(func(tx *memory.Tx) {
					if waiting := memory.Look[ratelimit.BacklogQueue](tx, level.Key); waiting != nil && len(waiting.Numbers) > 0 {
						waiting.Leave(waiting.Numbers[0])
					}
				})
			}
		}
		r := ratelimit.Request{ID: fmt.Sprint(i), Levels: []ratelimit.Level{level}}
		if b.AdmitOne(t, store.Request{Request: r}).Outcome == store.Admitted {
			admitted = append(admitted, at)
		}
	}
	return admitted
}

// worst is the most that one window of a minute holds.
func worst(admitted []time.Duration) (most int) {
	for i := range admitted {
		n := 0
		for _, at := range admitted[:i+1] {
			if at > admitted[i]-time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestGoldenFigureOfABurstByStrategy(t *testing.T) {
	t.Parallel()
	figure := newFigure("10 per minute: one event at 0:05, 40 from 0:50 to 1:00, then two a second", "seconds", "admitted, in all")
	table := "| strategy | admitted in 4 min | most in one minute | first minute |\n|---|---|---|---|\n"
	for i, s := range []struct {
		name     string
		strategy ratelimit.Strategy
		bound    int
	}{
		{"sliding-log", ratelimit.Strategy{}, 10},
		{"sliding-buckets, 10 s wide", ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 10 * time.Second}, 10},
		{"fixed-window, first", ratelimit.Strategy{Kind: ratelimit.FixedWindow}, 19},
		{"fixed-window, aligned", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}, 20},
		{"sliding-counter", ratelimit.Strategy{Kind: ratelimit.SlidingCounter}, 19},
		{"gcra, burst 5", ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 5}, 14},
		{"gate", ratelimit.Strategy{Kind: ratelimit.Gate}, 10},
		{"backlog, one leaves every 3 s", ratelimit.Strategy{Kind: ratelimit.Backlog}, 30},
	} {
		admitted := letThrough(t, s.strategy)
		require.LessOrEqual(t, worst(admitted), s.bound, s.name)
		first := 0
		points := plotter.XYs{{X: 0, Y: 0}}
		for n, at := range admitted {
			points = append(points, plotter.XY{X: at.Seconds(), Y: float64(n + 1)})
			if at < time.Minute {
				first++
			}
		}
		points = append(points, plotter.XY{X: 240, Y: float64(len(admitted))})
		addSteps(t, figure, s.name, points, i)
		table += fmt.Sprintf("| %s | %d | %d | %d |\n", s.name, len(admitted), worst(admitted), first)
	}
	figure.X.Min, figure.X.Max = 0, 240
	requireDocumented(t, "burst", table, figure)
}

// busyHour is 105,000 events of 50 busy categories in an hour, while 20 quiet ones each send one every 10 minutes.
// What passes is counted after as much time before as warm asks for.
func busyHour(t *testing.T, fairness *ratelimit.Fairness, warm bool) (sent int, quiet quietOnes) {
	t.Helper()
	const busy, still = 50, 20
	c := &storetest.Clock{T: storetest.StartTime}
	b := storetest.Fixture{Limiter: memory.New(memory.NewData(memory.DataOptions{Now: c.Now}), memory.Options{})}
	half := 30 * time.Minute
	l := storetest.Limits{Channel: ratelimit.Window{Limit: 100, Per: half}, Category: ratelimit.Window{Limit: 10, Per: half}}
	n := 0
	ask := func(category string) bool {
		n++
		r := l.Request(fmt.Sprint(n), category)
		r.Fairness, r.Enqueue = fairness, nil
		return b.AdmitOne(t, r).Outcome == store.Admitted
	}
	if warm { // every category sent an event the day before
		for i := range busy {
			ask(fmt.Sprint("busy", i))
		}
		for i := range still {
			ask(fmt.Sprint("quiet", i))
		}
		c.Advance(half)
	}
	begin := c.Now()
	posted, asked := map[int]bool{}, map[int]time.Duration{}
	random := rand.New(rand.NewPCG(1, 2)) // the same hour every time
	next := make([]time.Duration, still)
	for i := range next {
		next[i] = time.Duration(random.Int64N(int64(10 * time.Minute)))
	}
	const step = 3600 * time.Second / 105_000
	for i := range 105_000 {
		at := time.Duration(i) * step
		c.Advance(begin.Add(at).Sub(c.Now()))
		for q := range next {
			if at < next[q] {
				continue
			}
			next[q] += 10 * time.Minute
			passed := ask(fmt.Sprint("quiet", q))
			if passed {
				sent++
			}
			if _, before := asked[q]; !before {
				asked[q] = at
			}
			if !posted[q] {
				quiet.attempts++
				if passed {
					quiet.passed++
					posted[q] = true
					quiet.delay = max(quiet.delay, at-asked[q])
				}
			}
		}
		if ask(fmt.Sprint("busy", random.IntN(busy))) {
			sent++
		}
	}
	quiet.posted = len(posted)
	return sent, quiet
}

// quietOnes are the first notices of the quiet categories: how many attempts they took, how many passed, and the
// longest time from a category's first event to its first message.
type quietOnes struct {
	attempts, passed, posted int
	delay                    time.Duration
}

func TestGoldenFigureOfFairnessInABusyHour(t *testing.T) {
	t.Parallel()
	table := "| first_notice | messages | slots used | quiet categories with a message (of 20) | first notices that passed " +
		"| longest delay |\n" +
		"|---|---|---|---|---|---|\n"
	plain, _ := busyHour(t, nil, false)
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	row := func(name string, sent int, q quietOnes) (passed, used float64) {
		passed, used = share(q.passed, q.attempts), share(sent, plain)
		delay := "some have no message"
		if q.posted == 20 {
			delay = q.delay.Round(time.Second).String()
		}
		table += fmt.Sprintf("| %s | %d | %.1f %% | %d | %.1f %% | %s |\n", name, sent, used, q.posted, passed, delay)
		return passed, used
	}
	var firstNotices, used plotter.XYs
	for slots := int64(0); slots <= 70; slots += 10 {
		fairness := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Slots: slots, PerCategory: 1}}
		sent, quiet := busyHour(t, fairness, false)
		passed, u := row(fmt.Sprintf("fixed, %d slots", slots), sent, quiet)
		firstNotices = append(firstNotices, plotter.XY{X: float64(slots), Y: passed})
		used = append(used, plotter.XY{X: float64(slots), Y: u})
		if slots == 70 {
			require.InDelta(t, 100, passed, 0)
			require.Zero(t, quiet.delay)
		}
	}
	auto := func(floor int64) *ratelimit.Fairness {
		return &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true, Floor: floor}}
	}
	sent, quiet := busyHour(t, auto(0), false)
	row("auto, no known categories", sent, quiet)
	require.Equal(t, 20, quiet.posted)
	sent, quiet = busyHour(t, auto(80), false)
	row("auto, no known categories, floor 80", sent, quiet)
	require.Zero(t, quiet.delay)
	sent, quiet = busyHour(t, auto(0), true)
	passed, u := row("auto, all categories known", sent, quiet)
	require.InDelta(t, 100, passed, 0)
	require.Zero(t, quiet.delay)
	require.GreaterOrEqual(t, u, 98.0)

	figure := newFigure("An hour of 105,000 events, 50 busy and 20 quiet categories, 100 per 30 min",
		"slots reserved for first notices (fixed)", "%")
	addLine(t, figure, "first notices that passed", firstNotices, 0)
	addLine(t, figure, "slots used", used, 1)
	addLine(t, figure, "first notices, mode auto", plotter.XYs{{X: 0, Y: passed}, {X: 70, Y: passed}}, 2)
	addLine(t, figure, "slots used, mode auto", plotter.XYs{{X: 0, Y: u}, {X: 70, Y: u}}, 3)
	figure.Y.Min, figure.Y.Max = 0, 105
	figure.Legend.Top, figure.Legend.XOffs, figure.Legend.YOffs = false, vg.Points(300), vg.Points(20)
	requireDocumented(t, "fairness", table, figure)
}

func newFigure(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding, p.BackgroundColor = vg.Points(6), color.White
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(4)
	p.Add(plotter.NewGrid())
	return p
}

func addLine(t *testing.T, p *plot.Plot, name string, points plotter.XYs, i int) *plotter.Line {
	t.Helper()
	line, err := plotter.NewLine(points)
	require.NoError(t, err)
	line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.5)
	if i >= len(plotutil.DefaultColors) {
		line.Color = color.Black
	}
	p.Add(line)
	p.Legend.Add(name, line)
	return line
}

func addSteps(t *testing.T, p *plot.Plot, name string, points plotter.XYs, i int) {
	t.Helper()
	addLine(t, p, name, points, i).StepStyle = plotter.PostStep
}

// requireDocumented compares a figure and a table with those of the documentation.
func requireDocumented(t *testing.T, name, table string, p *plot.Plot) {
	t.Helper()
	canvas := vgsvg.New(8*vg.Inch, 4.5*vg.Inch)
	p.Draw(draw.New(canvas))
	var svg bytes.Buffer
	_, err := canvas.WriteTo(&svg)
	require.NoError(t, err)
	golden.Block(t, "../docs/strategies.md", "table: "+name, table)
	golden.File(t, "../docs/img/"+name+".svg", svg.Bytes())
}
