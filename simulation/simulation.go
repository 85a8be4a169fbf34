// Package simulation plays traces of events against limits, on a clock of its own, and counts what would have been sent and
// what dropped. It decides with the store in memory, which makes the same decisions as the one on Redis, or with package multi.
package simulation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// Event is one event of a trace, with the fields that limits use.
type Event struct {
	At       time.Duration // since the beginning of the trace
	ID       string        // "" = it is not a duplicate of another
	Category string        // normalised
	Sender   string
	Severity events.Severity
	Labels   map[string]string
}

// Trace are events in the order of their times.
type Trace []Event

// Setting is a configuration to play a trace against.
type Setting struct {
	Name    string
	Channel pipeline.Channel // its limits; nothing is sent
	// Multi decides with package multi, the limiter without scripts, which supports fixed-window (the default then) and
	// per-second. False decides as relay serve does.
	Multi bool
}

// tiers are the levels that the setting is played with.
func (s *Setting) tiers() []ratelimit.LevelSpec {
	tiers := slices.Clone(s.Channel.Tiers)
	for i := range tiers {
		if s.Multi && tiers[i].Strategy.Kind == "" {
			tiers[i].Strategy.Kind = ratelimit.FixedWindow
		}
	}
	return tiers
}

// Result are the counts of a played trace.
type Result struct {
	Name       string     `json:"name"`
	Received   int64      `json:"received"`
	Sent       int64      `json:"sent"`
	Dropped    int64      `json:"dropped"`
	Duplicate  int64      `json:"duplicate"`
	Categories []Category `json:"categories"` // the busiest first

	// SentPerStep and ReceivedPerStep are counts over time, for charts.
	SentPerStep     []int64       `json:"-"`
	ReceivedPerStep []int64       `json:"-"`
	Step            time.Duration `json:"-"`
}

// Category are the counts of one category. Times are in seconds.
type Category struct {
	Category string `json:"category"`
	Received int64  `json:"received"`
	Sent     int64  `json:"sent"`
	Dropped  int64  `json:"dropped"`
	// FirstNoticeDelay is the time from its first event to the first one that was sent; nil = none was sent.
	FirstNoticeDelay *float64 `json:"first_notice_delay"`
	// LongestSilence is the longest time from a dropped event to the next one that was sent, or else to the last event.
	LongestSilence float64 `json:"longest_silence"`
}

// Start is the beginning of every trace on the clock of the engine: windows that are aligned to hours depend on it.
var Start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// chartSteps is how many steps a chart shows.
const chartSteps = 120

// Play plays a trace against a setting. It calls progress every few thousand events and at the end, with the number of events
// played so far.
func Play(ctx context.Context, trace Trace, setting Setting, progress func(played int)) (Result, error) {
	now := Start
	limiter := setting.limiter(func() time.Time { return now })
	return play(ctx, trace, setting, clockedLimiter{limiter, func(at time.Duration) { now = Start.Add(at) }}, progress)
}

// limiter returns the limiter that the setting is played with.
func (s *Setting) limiter(clock func() time.Time) ratelimit.Limiter {
	if s.Multi {
		return multi.NewMemory(clock, multi.Options{})
	}
	data := memory.NewData(memory.DataOptions{Now: clock})
	return store.LimiterOf(memory.New(data, memory.Options{}), s.Channel.RequestBuilder().Scope())
}

// clockedLimiter is a limiter with the function that sets its clock.
type clockedLimiter struct {
	ratelimit.Limiter
	advance func(at time.Duration) // to this time of the trace
}

// progressEvery is the number of events between calls of progress.
const progressEvery = 4096

func play(ctx context.Context, trace Trace, setting Setting, limiter clockedLimiter, progress func(int)) (Result, error) {
	t := newTally(setting.Name, trace)
	setting.Channel.Tiers = setting.tiers()
	builder := setting.Channel.RequestBuilder()
	request := make([]ratelimit.Request, 1)
	event := events.Event{}
	for i := range trace {
		e := &trace[i]
		if i%progressEvery == 0 {
			progress(i)
			if err := ctx.Err(); err != nil {
				return Result{}, fmt.Errorf("play %s: %w", setting.Name, err)
			}
		}
		limiter.advance(e.At)
		event.Category, event.Sender, event.Severity, event.Labels = e.Category, e.Sender, e.Severity, e.Labels
		request[0] = builder.Build(&event)
		request[0].ID = idOf(e, i)
		decisions, err := limiter.Admit(ctx, request)
		if err != nil {
			return Result{}, fmt.Errorf("play %s: %w", setting.Name, err)
		}
		t.count(e, &decisions[0])
	}
	progress(len(trace))
	return t.result(), nil
}

// idOf returns an event's id for the limiter: its own, or a unique one.
func idOf(e *Event, i int) string {
	if e.ID == "" {
		return "#" + strconv.Itoa(i)
	}
	sum := sha256.Sum256([]byte(e.ID))
	return hex.EncodeToString(sum[:16])
}

// tally counts the decisions about a trace.
type tally struct {
	Result
	categories map[string]*counted
}

type counted struct {
	Category
	first     time.Duration
	silent    bool          // an event was dropped since the last one that was sent
	since     time.Duration // when the first of them was dropped
	last      time.Duration
	firstSent time.Duration // -1 = none
}

func newTally(name string, trace Trace) *tally {
	t := &tally{Result: Result{Name: name, Step: time.Minute}, categories: map[string]*counted{}}
	length := time.Duration(0)
	if len(trace) > 0 {
		length = trace[len(trace)-1].At
	}
	if step := length / chartSteps; step > t.Step {
		t.Step = step.Round(time.Minute) + time.Minute
	}
	n := int(length/t.Step) + 1
	t.SentPerStep, t.ReceivedPerStep = make([]int64, n), make([]int64, n)
	return t
}

func (t *tally) count(e *Event, d *ratelimit.Decision) {
	c := t.categories[e.Category]
	if c == nil {
		c = &counted{Category: Category{Category: e.Category}, first: e.At, firstSent: -1}
		t.categories[e.Category] = c
	}
	c.last = e.At
	t.Received++
	c.Received++
	t.ReceivedPerStep[e.At/t.Step]++
	switch {
	case d.Duplicate:
		t.Duplicate++
	case len(d.Refused) > 0:
		t.Dropped++
		c.Dropped++
		if !c.silent {
			c.silent, c.since = true, e.At
		}
	default:
		t.Sent++
		c.Sent++
		t.SentPerStep[e.At/t.Step]++
		if c.firstSent < 0 {
			c.firstSent = e.At
		}
		c.endSilence(e.At)
	}
}

// endSilence ends a period in which events were dropped and none was sent.
func (c *counted) endSilence(at time.Duration) {
	if c.silent {
		c.LongestSilence = max(c.LongestSilence, (at - c.since).Seconds())
		c.silent = false
	}
}

func (t *tally) result() Result {
	t.Categories = make([]Category, 0, len(t.categories))
	for _, c := range t.categories {
		c.endSilence(c.last)
		if c.firstSent >= 0 {
			delay := (c.firstSent - c.first).Seconds()
			c.FirstNoticeDelay = &delay
		}
		t.Categories = append(t.Categories, c.Category)
	}
	slices.SortFunc(t.Categories, func(a, b Category) int {
		return cmp.Or(cmp.Compare(b.Received, a.Received), cmp.Compare(a.Category, b.Category))
	})
	return t.Result
}
