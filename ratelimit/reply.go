package ratelimit

import (
	"fmt"
	"strconv"
)

// eventFields is how many values lua/admit.lua answers for each event.
const eventFields = 5

// decodeAdmit reads the reply of lua/admit.lua.
func decodeAdmit(p *plan, requests []Request, reply []any) (answer, error) {
	if len(reply) != 4 {
		return answer{}, fmt.Errorf("reply of %d values", len(reply))
	}
	head, err := integers(reply[:2])
	if err != nil {
		return answer{}, err
	}
	a := answer{now: head[0], stepped: head[1]}
	if p.mode == modeRestore {
		return a, nil
	}
	events, err := nested(reply[2], eventFields*len(requests))
	if err != nil {
		return answer{}, err
	}
	windows := 0
	for i := range p.levels {
		windows += 2 + len(p.levels[i].Windows)
	}
	states, err := nested(reply[3], windows)
	if err != nil {
		return answer{}, err
	}
	used := readClosures(&a, p, states)
	if err := readDecisions(&a, p, requests, events, used); err != nil {
		return answer{}, err
	}
	return a, nil
}

// closures reads what is closed, and returns the units used of each level by window.
func readClosures(a *answer, p *plan, states []int64) [][]int64 {
	used, at := make([][]int64, len(p.levels)), 0
	for i := range p.levels {
		if states[at] > 0 {
			a.closed = append(a.closed, closure{&p.levels[i], micros(states[at]), int(states[at+1])})
		}
		n := len(p.levels[i].Windows)
		used[i] = states[at+2 : at+2+n]
		at += 2 + n
	}
	return used
}

// superseded is the outcome of a request that took the place and the slot of another.
const superseded = Full + 1

// decode reads the decisions. The units used are those after the batch: going back through it tells how it
// stood after each request.
func readDecisions(a *answer, p *plan, requests []Request, events []int64, used [][]int64) error {
	a.decisions = make([]Decision, len(requests))
	for i := len(requests) - 1; i >= 0; i-- {
		r, d := &requests[i], &a.decisions[i]
		event := events[eventFields*i:]
		outcome, refused, shadow, retry, window := Outcome(event[0]), event[1], event[2], event[3], int(event[4])
		superseding := outcome == superseded
		if superseding {
			outcome = Admitted
		}
		if outcome < Admitted || outcome > Full {
			return fmt.Errorf("reply holds the unknown outcome %d", outcome)
		}
		*d = Decision{Outcome: outcome, RetryAfter: micros(retry), DecidedBy: ByRedis, Durable: true}
		d.refusedBy(r, refused, shadow, window)
		if outcome == Duplicate {
			continue
		}
		way := p.routes[p.routeOf[i]-1]
		d.Remaining = r.remaining(func(level int) []int64 { return used[way.levels[level]-1] })
		if outcome == Admitted && !superseding && p.mode != modePeek && p.mode != modeForce {
			for level, place := range way.levels {
				if shadow&(1<<level) == 0 {
					for w := range used[place-1] {
						used[place-1][w] -= r.units()
					}
				}
			}
		}
	}
	return nil
}

// remaining lists the windows of a request's levels, given the units used of each level.
func (r *Request) remaining(used func(level int) []int64) []Remaining {
	all := make([]Remaining, 0, len(r.Levels))
	for i := range r.Levels {
		for w, n := range used(i) {
			if n < 0 { // nobody looked
				continue
			}
			window := r.Levels[i].Windows[w]
			all = append(all, Remaining{
				Level: r.Levels[i].Name, Window: window, Used: n, Units: max(0, r.Levels[i].most(window)-n),
			})
		}
	}
	return all
}

// refusedBy names the levels whose bits are set, and the window of the first.
func (d *Decision) refusedBy(request *Request, refused, shadow int64, window int) {
	for i := range request.Levels {
		switch name := request.Levels[i].Name; {
		case refused&(1<<i) != 0:
			if windows := request.Levels[i].Windows; len(d.Refused) == 0 && window < len(windows) {
				d.Window = windows[window]
			}
			d.Refused = append(d.Refused, name)
		case shadow&(1<<i) != 0:
			d.Shadow = append(d.Shadow, name)
		}
	}
	if len(d.Refused) > 0 {
		d.Level = d.Refused[0]
	}
	if d.Outcome == Never {
		d.RetryAfter = -1
	}
}

// decodeReport reads the reply of lua/report.lua.
func decodeReport(reply []any) (Report, error) {
	if len(reply) < 4 {
		return Report{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := integers(reply[:3])
	if err != nil {
		return Report{}, err
	}
	counts, err := fields(reply[4:])
	if err != nil {
		return Report{}, err
	}
	reason, _ := reply[3].(string)
	return Report{
		Ledger:      ledgerOf(counts, numbers[0]),
		Oldest:      micros(numbers[1]),
		PausedFor:   micros(numbers[2]),
		PauseReason: reason,
	}, nil
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

// dropOf reads a record of lua/admit.lua or lua/fold.lua.
func dropOf(fields map[string]string) Drop {
	numbers := parsed(fields)
	return Drop{
		Payload: []byte(fields["event"]), Category: fields["category"], Level: fields["level"],
		Used: numbers["used"], Limit: numbers["limit"], Retry: micros(numbers["retry_us"]),
	}
}

// parsed reads the counts of a hash; what is no number is left out.
func parsed(hash map[string]string) map[string]int64 {
	counts := make(map[string]int64, len(hash))
	for name, value := range hash {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			counts[name] = n
		}
	}
	return counts
}
