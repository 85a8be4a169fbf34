package redis

import (
	"fmt"
	"strconv"

	"slackrelay/store"
)

// eventFields is how many values lua/admit.lua answers for each event.
const eventFields = 5

// decodeAdmit reads the reply of lua/admit.lua.
func decodeAdmit(p *store.Plan, requests []store.Request, reply []any) (store.Answer, error) {
	if len(reply) != 4 {
		return store.Answer{}, fmt.Errorf("reply of %d values", len(reply))
	}
	head, err := integers(reply[:2])
	if err != nil {
		return store.Answer{}, err
	}
	a := store.Answer{Now: head[0], Stepped: head[1]}
	if p.Mode == store.ModeRestore {
		return a, nil
	}
	events, err := nested(reply[2], eventFields*len(requests))
	if err != nil {
		return store.Answer{}, err
	}
	windows := 0
	for i := range p.Levels {
		windows += 2 + len(p.Levels[i].Windows)
	}
	states, err := nested(reply[3], windows)
	if err != nil {
		return store.Answer{}, err
	}
	used := readClosures(&a, p, states)
	if err := readDecisions(&a, p, requests, events, used); err != nil {
		return store.Answer{}, err
	}
	return a, nil
}

// closures reads what is closed, and returns the units used of each level by window.
func readClosures(a *store.Answer, p *store.Plan, states []int64) [][]int64 {
	used, at := make([][]int64, len(p.Levels)), 0
	for i := range p.Levels {
		if states[at] > 0 {
			a.Closed = append(a.Closed, store.ClosedLevel{Level: &p.Levels[i], For: store.Microseconds(states[at]), Window: int(states[at+1])})
		}
		n := len(p.Levels[i].Windows)
		used[i] = states[at+2 : at+2+n]
		at += 2 + n
	}
	return used
}

// decode reads the decisions. The units used are those after the batch: going back through it tells how it
// stood after each request.
func readDecisions(a *store.Answer, p *store.Plan, requests []store.Request, events []int64, used [][]int64) error {
	a.Decisions = make([]store.Decision, len(requests))
	for i := len(requests) - 1; i >= 0; i-- {
		r, d := &requests[i], &a.Decisions[i]
		event := events[eventFields*i:]
		outcome, refused, shadow, retry, window := store.Outcome(event[0]), event[1], event[2], event[3], int(event[4])
		if !outcome.Valid() || outcome == store.Muted {
			return fmt.Errorf("reply holds the unknown outcome %d", outcome)
		}
		spent := outcome == store.Admitted && p.Mode != store.ModePeek && p.Mode != store.ModeForce
		if outcome == store.Superseding {
			outcome = store.Admitted
		}
		*d = store.Decision{Outcome: outcome, RetryAfter: store.Microseconds(retry), DecidedBy: store.ByRedis, Durable: true}
		d.SetRefused(r, refused, shadow, window)
		if outcome == store.Duplicate {
			continue
		}
		way := p.Paths[p.PathOf[i]-1]
		d.Remaining = r.Remaining(func(level int) []int64 { return used[way.Levels[level]-1] })
		if spent {
			for level, place := range way.Levels {
				if shadow&(1<<level) == 0 {
					for w := range used[place-1] {
						used[place-1][w] -= r.Units()
					}
				}
			}
		}
	}
	return nil
}

// nested reads a reply within a reply, of so many integers.
func nested(value any, want int) ([]int64, error) {
	reply, ok := value.([]any)
	if !ok || len(reply) != want {
		return nil, fmt.Errorf("reply holds %T of %d values, want %d", value, len(reply), want)
	}
	return integers(reply)
}

// integers reads a reply that must hold integers only.
func integers(reply []any) ([]int64, error) {
	numbers := make([]int64, len(reply))
	for i, value := range reply {
		n, ok := value.(int64)
		if !ok {
			return nil, fmt.Errorf("reply holds %T at %d, want an integer", value, i)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// fields reads a reply of names and counts in turn. Redis answers the counts of a hash as strings.
func fields(reply []any) (map[string]int64, error) {
	if len(reply)%2 != 0 {
		return nil, fmt.Errorf("reply of %d values is not made of pairs", len(reply))
	}
	counts := make(map[string]int64, len(reply)/2)
	for i := 0; i < len(reply); i += 2 {
		name, ok := reply[i].(string)
		if !ok {
			return nil, fmt.Errorf("reply holds %T at %d, want a name", reply[i], i)
		}
		n, err := strconv.ParseInt(fmt.Sprint(reply[i+1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", name, err)
		}
		counts[name] = n
	}
	return counts, nil
}
