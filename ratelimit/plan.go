package ratelimit

import (
	"encoding/json"
	"strconv"
)

// mode says what lua/admit.lua does with its decisions.
type mode string

const (
	modeAdmit   mode = "admit"
	modePeek    mode = "peek"
	modeRestore mode = "restore"
	modePromote mode = "promote"
	modeForce   mode = "force"
	modeOpen    mode = "open" // admit whatever the limits say; of the engine Memory only
)

// fold identifies what a replica folds into the shared state, so that a repeat changes nothing.
type fold struct {
	replica  string
	sequence int64
}

// plan is what the requests of a call have in common: each level once, and each category's way through them once,
// where its requests go the same way.
type plan struct {
	mode     mode
	levels   []Level
	routes   []route
	routeOf  []int // of each request
	fairness *Fairness
	handling *Handling
}

// route is a category with its levels.
type route struct {
	category string
	headroom int64
	own      int   // the place of the category's level, from 1; 0 = none
	levels   []int // places, from 1, outermost first
}

func newPlan(m mode, requests []Request) *plan {
	p := &plan{mode: m, routeOf: make([]int, len(requests))}
	places := make(map[string]int, 2*len(requests))
	place := func(level Level) int {
		n, ok := places[level.Key]
		if !ok {
			p.levels = append(p.levels, level)
			n = len(p.levels)
			places[level.Key] = n
		}
		return n
	}
	made := make(map[string]int, len(requests)) // the request that made a category's last route
	for i := range requests {
		r := &requests[i]
		if before, ok := made[r.Category]; ok && requests[before].sameRoute(r) {
			p.routeOf[i] = p.routeOf[before]
			continue
		}
		p.routes = append(p.routes, r.route(place))
		p.routeOf[i] = len(p.routes)
		made[r.Category] = i
	}
	if f := requests[0].Fairness; f.on() {
		p.fairness = f
		for _, reserve := range f.Reserves {
			place(reserve.Level)
		}
	}
	if m == modeAdmit || m == modeRestore {
		p.handling = requests[0].Handling
	}
	if m == modeAdmit && requests[0].Delayed > 0 {
		p.mode = modePromote
	}
	if m == modeAdmit && requests[0].Forced {
		p.mode = modeForce
	}
	return p
}

func (r *Request) route(place func(Level) int) route {
	way := route{category: r.Category, headroom: r.Headroom, levels: make([]int, len(r.Levels))}
	for i, level := range r.Levels {
		way.levels[i] = place(level)
	}
	if own := categoryPlace(*r); own >= 0 {
		way.own = way.levels[own]
	}
	return way
}

func (r *Request) sameRoute(other *Request) bool {
	if r.Category != other.Category || r.Headroom != other.Headroom || len(r.Levels) != len(other.Levels) {
		return false
	}
	for i := range r.Levels {
		if r.Levels[i].Key != other.Levels[i].Key {
			return false
		}
	}
	return true
}

// json is the plan as lua/admit.lua reads it.
func planText(p *plan, dedupe int64, f fold) []byte {
	b := append(make([]byte, 0, 256), `["`...)
	b = append(b, p.mode...)
	b = append(b, `",`...)
	b = strconv.AppendInt(b, dedupe, 10)
	b = append(b, ",["...)
	for i, level := range p.levels {
		b = appendLevel(comma(b, i), level)
	}
	b = append(b, "],["...)
	for i, way := range p.routes {
		b = appendRoute(comma(b, i), way)
	}
	b = append(b, "],"...)
	b = appendFairness(p, b)
	if p.mode == modeRestore || p.handling != nil {
		b = append(b, ',')
		b = appendString(b, f.replica)
		b = append(b, ',')
		b = strconv.AppendInt(b, f.sequence, 10)
	}
	if p.handling != nil {
		b = append(b, ',')
		b = append(b, handlingText(p.handling, p.levels)...)
	}
	return append(b, ']')
}

func appendLevel(b []byte, level Level) []byte {
	b = append(b, `["`...)
	b = append(b, level.Strategy.tag()...)
	b = append(b, `",`...)
	b = strconv.AppendInt(b, level.option(), 10)
	if level.Shadow {
		b = append(b, ",1"...)
	} else {
		b = append(b, ",0"...)
	}
	for _, w := range level.Windows {
		b = strconv.AppendInt(append(b, ','), w.Limit, 10)
		b = strconv.AppendInt(append(b, ','), w.Per.Microseconds(), 10)
	}
	return append(b, ']')
}

func appendRoute(b []byte, way route) []byte {
	b = append(b, '[')
	b = appendString(b, way.category)
	b = strconv.AppendInt(append(b, ','), way.headroom, 10)
	b = strconv.AppendInt(append(b, ','), int64(way.own), 10)
	for _, place := range way.levels {
		b = strconv.AppendInt(append(b, ','), int64(place), 10)
	}
	return append(b, ']')
}

func appendFairness(p *plan, b []byte) []byte {
	b = append(b, '{')
	if p.fairness == nil {
		return append(b, '}')
	}
	n := 0
	number := func(name string, value int64) {
		b = append(appendString(comma(b, n), name), ':')
		b = strconv.AppendInt(b, value, 10)
		n++
	}
	switch first := p.fairness.FirstNotice; {
	case first.Auto:
		number("floor", first.Floor)
	case first.Slots > 0:
		number("slots", first.Slots)
		number("per_category", first.PerCategory)
	}
	if len(p.fairness.Reserves) > 0 {
		b = append(comma(b, n), `"reserves":[`...)
		for i, reserve := range p.fairness.Reserves {
			b = append(comma(b, i), '[')
			b = appendString(b, reserve.Category)
			b = strconv.AppendInt(append(b, ','), reserve.Slots, 10)
			b = strconv.AppendInt(append(b, ','), int64(p.placeOf(reserve.Level)), 10)
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func (p *plan) placeOf(level Level) int {
	for i := range p.levels {
		if p.levels[i].Key == level.Key {
			return i + 1
		}
	}
	return 0
}

func (p *plan) learning() bool { return p.fairness != nil && p.fairness.FirstNotice.Auto }

func comma(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	return append(b, ',')
}

func appendString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // no string fails to be encoded
		return append(b, `""`...)
	}
	return append(b, quoted...)
}
