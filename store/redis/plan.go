package redis

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// decideCall is a call of a script that decides requests. The header of lua/admit.lua describes its keys and arguments.
type decideCall struct {
	channel  store.Channel
	requests []store.Request
	id       store.MergeID // of ModeRestore
	plan     *store.Plan   // of the requests
}

// keys returns KEYS; hour is a time within the hour whose series counts the requests.
func (c *decideCall) keys(hour time.Time) []string {
	k := c.channel.Keys()
	keys := make([]string, 0, 18+len(c.plan.Levels))
	keys = append(keys, k.Seen(), k.Ledger(), k.Series(hour), k.Outbox(), k.Entries(), k.Minutes(hour), lua.DueIndex)
	for i := range c.plan.Levels {
		keys = append(keys, c.plan.Levels[i].Key)
	}
	if c.plan.LearnsCategories() {
		keys = append(keys, k.Known(), k.AdmittedCategories())
	}
	if c.plan.Mode == store.ModeRestore {
		keys = append(keys, k.MergeSequences(), k.Dead())
	}
	if c.plan.Policy != nil {
		keys = append(keys, k.Extras(), k.Posted(), k.Aged(), k.Drops(), k.Digest(), k.LastAdmitted(), k.Delayed())
	}
	return keys
}

// args returns ARGV: the plan, then the same number of arguments for each request.
func (c *decideCall) args(dedupe time.Duration) []any {
	args := make([]any, 0, 1+12*len(c.requests))
	args = append(args, c.encodePlan(dedupe))
	for i := range c.requests {
		r := &c.requests[i]
		args = append(args, r.ID, r.Units(), c.plan.PathOf[i], encodeEntry(r))
		if c.plan.Policy != nil {
			e := &r.Event
			severity := cmp.Or(e.Severity, "warning")
			args = append(args, e.Bundle, string(e.Status), e.Fingerprint, severity, e.Title, r.Delayed, e.ReplyTo)
		}
		if c.plan.Mode == store.ModeRestore {
			args = append(args, encodeResult(r))
		}
	}
	return args
}

// encodeEntry returns what a request appends to the queue: "<kind> <payload>"; nil = nothing.
func encodeEntry(r *store.Request) []byte {
	if r.Enqueue == nil {
		return nil
	}
	entry := make([]byte, 0, len(r.Enqueue.Kind)+1+len(r.Enqueue.Payload))
	entry = append(entry, r.Enqueue.Kind...)
	entry = append(entry, ' ')
	return append(entry, r.Enqueue.Payload...)
}

// encodePlan returns the plan as a JSON array: mode, dedupe in microseconds, levels, paths, fairness, then with a policy
// or when restoring also replica and sequence, and with a policy its options. It is written by hand because it is part of
// every call.
func (c *decideCall) encodePlan(dedupe time.Duration) []byte {
	p := c.plan
	b := make([]byte, 0, 256)
	b = append(b, `["`...)
	b = append(b, p.Mode...)
	b = append(b, '"')
	b = appendNumber(b, dedupe.Microseconds())
	b = append(b, ",["...)
	for i := range p.Levels {
		b = appendLevel(appendComma(b, i), &p.Levels[i])
	}
	b = append(b, "],["...)
	for i := range p.Paths {
		b = appendPath(appendComma(b, i), &p.Paths[i])
	}
	b = append(b, "],"...)
	b = appendFairness(b, p)
	if p.Mode == store.ModeRestore || p.Policy != nil {
		b = append(b, ',')
		b = appendString(b, c.id.Replica)
		b = appendNumber(b, c.id.Sequence)
	}
	if p.Policy != nil {
		b = append(b, ',')
		b = append(b, encodePolicy(p.Policy, p.Levels)...)
	}
	return append(b, ']')
}

// appendLevel appends [strategy, option, shadow, limit, per, ...]; per in microseconds.
func appendLevel(b []byte, level *ratelimit.Level) []byte {
	shadow := int64(0)
	if level.Shadow {
		shadow = 1
	}
	b = append(b, `["`...)
	b = append(b, level.Strategy.Tag()...)
	b = append(b, '"')
	b = appendNumber(b, level.Option())
	b = appendNumber(b, shadow)
	for _, w := range level.Windows {
		b = appendNumber(b, w.Limit)
		b = appendNumber(b, w.Per.Microseconds())
	}
	return append(b, ']')
}

// appendPath appends [category, headroom, number of the category level, number of a level, ...].
func appendPath(b []byte, path *store.Path) []byte {
	b = append(b, '[')
	b = appendString(b, path.Category)
	b = appendNumber(b, path.Headroom)
	b = appendNumber(b, int64(path.CategoryLevel))
	for _, number := range path.Levels {
		b = appendNumber(b, int64(number))
	}
	return append(b, ']')
}

// appendFairness appends an object with the fields that are set.
func appendFairness(b []byte, p *store.Plan) []byte {
	b = append(b, '{')
	if p.Fairness == nil {
		return append(b, '}')
	}
	fields := 0
	appendField := func(name string) {
		b = append(appendString(appendComma(b, fields), name), ':')
		fields++
	}
	switch first := p.Fairness.FirstNotice; {
	case first.Auto:
		appendField("floor")
		b = strconv.AppendInt(b, first.Floor, 10)
	case first.Slots > 0:
		appendField("slots")
		b = strconv.AppendInt(b, first.Slots, 10)
		appendField("per_category")
		b = strconv.AppendInt(b, first.PerCategory, 10)
	}
	if len(p.Fairness.Reserves) > 0 {
		appendField("reserves")
		b = appendReserves(b, p)
	}
	return append(b, '}')
}

// appendReserves appends [[category, slots, number of its level], ...].
func appendReserves(b []byte, p *store.Plan) []byte {
	b = append(b, '[')
	for i, reserve := range p.Fairness.Reserves {
		b = append(appendComma(b, i), '[')
		b = appendString(b, reserve.Category)
		b = appendNumber(b, reserve.Slots)
		b = appendNumber(b, int64(p.LevelNumber(reserve.Level)))
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendNumber appends a number after another element of an array.
func appendNumber(b []byte, n int64) []byte { return strconv.AppendInt(append(b, ','), n, 10) }

// appendComma appends the comma before the element with an index.
func appendComma(b []byte, index int) []byte {
	if index == 0 {
		return b
	}
	return append(b, ',')
}

func appendString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // strings always encode
		return append(b, `""`...)
	}
	return append(b, quoted...)
}

// policyJSON is a message policy as the scripts read it. Durations are microseconds.
type policyJSON struct {
	Overflow   store.OverflowPolicy `json:"overflow"`
	MaxDelayed int64                `json:"most"`
	MaxDelay   int64                `json:"age"`
	Resolves   store.ResolvesPolicy `json:"resolves"`
	Repeats    bool                 `json:"repeats"`
	Digest     bool                 `json:"digest"`
	KeepDrops  int64                `json:"drops"`
	PostedFor  int64                `json:"posted"`
	EditEvery  int64                `json:"every"`
	LevelNames []string             `json:"names"`
}

// encodePolicy returns a policy as JSON, with the names of the plan's levels.
func encodePolicy(policy *store.MessagePolicy, levels []ratelimit.Level) []byte {
	names := make([]string, len(levels))
	for i := range levels {
		names[i] = levels[i].Name
	}
	encoded, err := json.Marshal(policyJSON{
		Overflow:   policy.Overflow,
		MaxDelayed: policy.MaxDelayed,
		MaxDelay:   policy.MaxDelay.Microseconds(),
		Resolves:   policy.Resolves,
		Repeats:    policy.Repeats,
		Digest:     policy.Digest,
		KeepDrops:  policy.KeepDrops,
		PostedFor:  policy.RememberFor().Microseconds(),
		EditEvery:  policy.EditInterval().Microseconds(),
		LevelNames: names,
	})
	if err != nil { // strings and numbers always encode
		return []byte("{}")
	}
	return encoded
}
