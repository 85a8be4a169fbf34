package store

import (
	"slackrelay/ratelimit"
)

// Mode is which script decides requests, or its twin in memory.
type Mode string

// The modes.
const (
	ModeAdmit   Mode = "admit"
	ModePeek    Mode = "peek"
	ModeRestore Mode = "restore"
	ModePromote Mode = "promote"
	ModeForce   Mode = "force"
)

// Plan is what the requests of one call have in common, in the form that a script reads: each level once, and each
// category's path through the levels once, where its requests share it.
type Plan struct {
	Mode     Mode
	Levels   []ratelimit.Level
	Paths    []Path
	PathOf   []int // the number of each request's path, from 1
	Fairness *ratelimit.Fairness
	Policy   *MessagePolicy
}

// Path is a category with its levels.
type Path struct {
	Category      string
	Headroom      int64
	CategoryLevel int   // the number of the category level in the plan, from 1; 0 = none
	Levels        []int // the numbers of the levels in the plan, from 1, outermost first
}

// NewPlan returns the plan of requests that [Check] found valid for the mode.
func NewPlan(mode Mode, requests []Request) *Plan {
	p := &Plan{Mode: mode, PathOf: make([]int, len(requests))}
	numbers := make(map[string]int, 2*len(requests))
	number := func(level ratelimit.Level) int {
		n, ok := numbers[level.Key]
		if !ok {
			p.Levels = append(p.Levels, level)
			n = len(p.Levels)
			numbers[level.Key] = n
		}
		return n
	}
	last := make(map[string]int, len(requests)) // the request that made a category's last path
	for i := range requests {
		r := &requests[i]
		if before, ok := last[r.Category]; ok && requests[before].samePath(r) {
			p.PathOf[i] = p.PathOf[before]
			continue
		}
		p.Paths = append(p.Paths, r.path(number))
		p.PathOf[i] = len(p.Paths)
		last[r.Category] = i
	}
	if f := requests[0].Fairness; f.Enabled() {
		p.Fairness = f
		for _, reserve := range f.Reserves {
			number(reserve.Level)
		}
	}
	if p.Mode != ModePeek {
		p.Policy = requests[0].Policy
	}
	return p
}

func (r *Request) path(number func(ratelimit.Level) int) Path {
	path := Path{Category: r.Category, Headroom: r.Headroom, Levels: make([]int, len(r.Levels))}
	for i, level := range r.Levels {
		path.Levels[i] = number(level)
	}
	if i := r.CategoryLevel(); i >= 0 {
		path.CategoryLevel = path.Levels[i]
	}
	return path
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

// LevelNumber returns the number of a level in the plan, from 1; 0 = the plan does not have it.
func (p *Plan) LevelNumber(level ratelimit.Level) int {
	for i := range p.Levels {
		if p.Levels[i].Key == level.Key {
			return i + 1
		}
	}
	return 0
}

// LearnsCategories reports whether first notices learn the channel's categories.
func (p *Plan) LearnsCategories() bool { return p.Fairness != nil && p.Fairness.FirstNotice.Auto }
