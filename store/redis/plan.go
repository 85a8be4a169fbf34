package redis

import (
	"encoding/json"
	"strconv"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// handlingJSON is the options of lua/admit.lua.
type handlingJSON struct {
	Overflow store.OverflowPolicy `json:"overflow"`
	Most     int64                `json:"most"`
	Age      int64                `json:"age"`
	Resolves store.ResolvesPolicy `json:"resolves"`
	Repeats  bool                 `json:"repeats"`
	Digest   bool                 `json:"digest"`
	Drops    int64                `json:"drops"`
	Posted   int64                `json:"posted"`
	Every    int64                `json:"every"`
	Names    []string             `json:"names"`
}

// json is the handling as lua/admit.lua reads it, with the names of the plan's levels.
func handlingText(h *store.MessagePolicy, levels []ratelimit.Level) []byte {
	names := make([]string, len(levels))
	for i := range levels {
		names[i] = levels[i].Name
	}
	encoded, err := json.Marshal(handlingJSON{
		Overflow: h.Overflow, Most: h.MaxDelayed, Age: h.MaxDelay.Microseconds(), Resolves: h.Resolves, Repeats: h.Repeats,
		Digest: h.Digest, Drops: h.KeepDrops, Posted: h.RememberFor().Microseconds(), Every: h.EditInterval().Microseconds(), Names: names,
	})
	if err != nil { // strings and numbers
		return []byte("{}")
	}
	return encoded
}

// script is the one that the mode calls.
func scriptOf(m store.Mode) *redis.Script {
	scripts := map[store.Mode]*redis.Script{
		store.ModeAdmit: lua.Admit, store.ModePeek: lua.Peek, store.ModeRestore: lua.Restore, store.ModePromote: lua.Promote, store.ModeForce: lua.Force,
	}
	return scripts[m]
}

// json is the plan as lua/admit.lua reads it.
func planText(p *store.Plan, dedupe int64, f store.MergeID) []byte {
	b := append(make([]byte, 0, 256), `["`...)
	b = append(b, p.Mode...)
	b = append(b, `",`...)
	b = strconv.AppendInt(b, dedupe, 10)
	b = append(b, ",["...)
	for i, level := range p.Levels {
		b = appendLevel(comma(b, i), level)
	}
	b = append(b, "],["...)
	for i, way := range p.Paths {
		b = appendRoute(comma(b, i), way)
	}
	b = append(b, "],"...)
	b = appendFairness(p, b)
	if p.Mode == store.ModeRestore || p.Policy != nil {
		b = append(b, ',')
		b = appendString(b, f.Replica)
		b = append(b, ',')
		b = strconv.AppendInt(b, f.Sequence, 10)
	}
	if p.Policy != nil {
		b = append(b, ',')
		b = append(b, handlingText(p.Policy, p.Levels)...)
	}
	return append(b, ']')
}

func appendLevel(b []byte, level ratelimit.Level) []byte {
	b = append(b, `["`...)
	b = append(b, level.Strategy.Tag()...)
	b = append(b, `",`...)
	b = strconv.AppendInt(b, level.Option(), 10)
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

func appendRoute(b []byte, way store.Path) []byte {
	b = append(b, '[')
	b = appendString(b, way.Category)
	b = strconv.AppendInt(append(b, ','), way.Headroom, 10)
	b = strconv.AppendInt(append(b, ','), int64(way.CategoryLevel), 10)
	for _, place := range way.Levels {
		b = strconv.AppendInt(append(b, ','), int64(place), 10)
	}
	return append(b, ']')
}

func appendFairness(p *store.Plan, b []byte) []byte {
	b = append(b, '{')
	if p.Fairness == nil {
		return append(b, '}')
	}
	n := 0
	number := func(name string, value int64) {
		b = append(appendString(comma(b, n), name), ':')
		b = strconv.AppendInt(b, value, 10)
		n++
	}
	switch first := p.Fairness.FirstNotice; {
	case first.Auto:
		number("floor", first.Floor)
	case first.Slots > 0:
		number("slots", first.Slots)
		number("per_category", first.PerCategory)
	}
	if len(p.Fairness.Reserves) > 0 {
		b = append(comma(b, n), `"reserves":[`...)
		for i, reserve := range p.Fairness.Reserves {
			b = append(comma(b, i), '[')
			b = appendString(b, reserve.Category)
			b = strconv.AppendInt(append(b, ','), reserve.Slots, 10)
			b = strconv.AppendInt(append(b, ','), int64(p.LevelNumber(reserve.Level)), 10)
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

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
