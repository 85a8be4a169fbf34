package store

import (
	"slackrelay/ratelimit"
)

// mode is which script decides, and what becomes of its decisions.
type Mode string

const (
	ModeAdmit   Mode = "admit"
	ModePeek    Mode = "peek"
	ModeRestore Mode = "restore"
	ModePromote Mode = "promote"
	ModeForce   Mode = "force"
	ModeOpen    Mode = "open" // admit whatever the limits say; of the engine Memory only
)

// fold identifies what a replica folds into the shared state, so that a repeat changes nothing.
type MergeID struct {
	Replica  string
	Sequence int64
}

// plan is what the requests of a call have in common: each level once, and each category's way through them once,
// where its requests go the same way.
type Plan struct {
	Mode     Mode
	Levels   []ratelimit.Level
	Paths    []Path
	PathOf   []int // of each request
	Fairness *ratelimit.Fairness
	Policy   *MessagePolicy
}

// route is a category with its levels.
type Path struct {
	Category      string
	Headroom      int64
	CategoryLevel int   // the place of the category's level, from 1; 0 = none
	Levels        []int // places, from 1, outermost first
}

func NewPlan(m Mode, requests []Request) *Plan {
	p := &Plan{Mode: m, PathOf: make([]int, len(requests))}
	places := make(map[string]int, 2*len(requests))
	place := func(level ratelimit.Level) int {
		n, ok := places[level.Key]
		if !ok {
			p.Levels = append(p.Levels, level)
			n = len(p.Levels)
			places[level.Key] = n
		}
		return n
	}
	made := make(map[string]int, len(requests)) // the request that made a category's last route
	for i := range requests {
		r := &requests[i]
		if before, ok := made[r.Category]; ok && requests[before].samePath(r) {
			p.PathOf[i] = p.PathOf[before]
			continue
		}
		p.Paths = append(p.Paths, r.path(place))
		p.PathOf[i] = len(p.Paths)
		made[r.Category] = i
	}
	if f := requests[0].Fairness; f.Enabled() {
		p.Fairness = f
		for _, reserve := range f.Reserves {
			place(reserve.Level)
		}
	}
	if m == ModeAdmit || m == ModeRestore {
		p.Policy = requests[0].Policy
	}
	if m == ModeAdmit && requests[0].Delayed > 0 {
		p.Mode = ModePromote
	}
	if m == ModeAdmit && requests[0].Forced {
		p.Mode = ModeForce
	}
	return p
}

func (r *Request) path(place func(ratelimit.Level) int) Path {
	way := Path{Category: r.Category, Headroom: r.Headroom, Levels: make([]int, len(r.Levels))}
	for i, level := range r.Levels {
		way.Levels[i] = place(level)
	}
	if own := categoryPlace(*r); own >= 0 {
		way.CategoryLevel = way.Levels[own]
	}
	return way
}

func (r *Request) samePath(other *Request) bool {
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

func (p *Plan) LevelNumber(level ratelimit.Level) int {
	for i := range p.Levels {
		if p.Levels[i].Key == level.Key {
			return i + 1
		}
	}
	return 0
}

func (p *Plan) LearnsCategories() bool { return p.Fairness != nil && p.Fairness.FirstNotice.Auto }
