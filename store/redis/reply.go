package redis

import (
	"bytes"
	"fmt"
	"strconv"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// decodeAnswer reads the reply of a script that decides requests: [now, stepped, events, levels]. now is Redis's time in
// microseconds.
func decodeAnswer(p *store.Plan, requests []store.Request, reply []any) (now int64, answer store.Answer, err error) {
	if len(reply) != 4 {
		return 0, store.Answer{}, fmt.Errorf("reply of %d values", len(reply))
	}
	clock, err := integers(reply[:2])
	if err != nil {
		return 0, store.Answer{}, err
	}
	now, answer.Stepped = clock[0], store.Microseconds(clock[1])
	if p.Mode == store.ModeRestore {
		return now, answer, nil
	}
	events, err := decodeEvents(reply[2], len(requests))
	if err != nil {
		return 0, store.Answer{}, err
	}
	levels, err := decodeLevels(reply[3], p)
	if err != nil {
		return 0, store.Answer{}, err
	}
	for i := range levels {
		if levels[i].closedFor > 0 {
			answer.Closed = append(answer.Closed, store.ClosedLevel{
				Level:  &p.Levels[i],
				For:    store.Microseconds(levels[i].closedFor),
				Window: levels[i].closedWindow,
			})
		}
	}
	answer.Decisions = decisionsOf(p, requests, events, levels)
	return now, answer, nil
}

// eventReply is what a script returns for a request.
type eventReply struct {
	outcome    store.Outcome
	refused    int64 // bits of the levels that refused
	shadow     int64 // bits of the shadow levels that would have refused
	retryAfter int64 // microseconds
	window     int   // the index of the window that refuses longest, of the first level that refused
}

// eventFields is the number of integers of an eventReply.
const eventFields = 5

func decodeEvents(value any, requests int) ([]eventReply, error) {
	numbers, err := nested(value, eventFields*requests)
	if err != nil {
		return nil, err
	}
	events := make([]eventReply, requests)
	for i := range events {
		n := numbers[eventFields*i:]
		events[i] = eventReply{
			outcome: store.Outcome(n[0]), refused: n[1], shadow: n[2], retryAfter: n[3], window: int(n[4]),
		}
		if outcome := events[i].outcome; !outcome.Valid() || outcome == store.Muted {
			return nil, fmt.Errorf("reply holds the unknown outcome %d", outcome)
		}
	}
	return events, nil
}

// levelReply is what a script returns for a level of the plan, as it is after all requests.
type levelReply struct {
	closedFor    int64   // how long one unit certainly cannot fit, microseconds; 0 = it may fit
	closedWindow int     // the index of the window that is full for that long
	used         []int64 // units used in each window
}

func decodeLevels(value any, p *store.Plan) ([]levelReply, error) {
	want := 0
	for i := range p.Levels {
		want += 2 + len(p.Levels[i].Windows)
	}
	numbers, err := nested(value, want)
	if err != nil {
		return nil, err
	}
	levels := make([]levelReply, len(p.Levels))
	for i := range levels {
		end := 2 + len(p.Levels[i].Windows)
		levels[i] = levelReply{closedFor: numbers[0], closedWindow: int(numbers[1]), used: numbers[2:end]}
		numbers = numbers[end:]
	}
	return levels, nil
}

// decisionsOf returns the decisions. A script returns the units used after all requests, and each decision contains those
// after its own request: from the last request to the first, the units that each spent are subtracted.
func decisionsOf(p *store.Plan, requests []store.Request, events []eventReply, levels []levelReply) []store.Decision {
	decisions := make([]store.Decision, len(requests))
	for i := len(requests) - 1; i >= 0; i-- {
		r := &requests[i]
		event := events[i]
		path := p.Paths[p.PathOf[i]-1]
		decisions[i] = decisionOf(refusedRequest(requests, events, i), event)
		if event.outcome != store.Duplicate { // no level was read for one
			decisions[i].Remaining = r.Remaining(func(level int) []int64 { return levels[path.Levels[level]-1].used })
		}
		if event.outcome == store.Admitted && p.Mode != store.ModePeek && p.Mode != store.ModeForce {
			subtractUnits(levels, path, r.Units(), event.shadow)
		}
	}
	return decisions
}

// refusedRequest returns the request whose levels refused the i-th one. The events of a bundle share what its first was
// answered.
func refusedRequest(requests []store.Request, events []eventReply, i int) *store.Request {
	r := &requests[i]
	if r.Event.Bundle == "" || events[i].refused == 0 {
		return r
	}
	for j := range i {
		if first := &requests[j]; events[j].refused != 0 && first.Event.Bundle == r.Event.Bundle && first.Category == r.Category {
			return first
		}
	}
	return r
}

// decisionOf returns the decision about a request, or about one that shares it.
func decisionOf(r *store.Request, event eventReply) store.Decision {
	d := store.Decision{
		Decision: ratelimit.Decision{
			Duplicate: event.outcome == store.Duplicate, RetryAfter: store.Microseconds(event.retryAfter),
		},
		Outcome: event.outcome, DecidedBy: store.ByRedis, Durable: true,
	}
	if d.Outcome == store.Superseding { // it took over the slot of its firing
		d.Outcome = store.Admitted
	}
	d.SetRefused(r, event.refused, event.shadow, event.window)
	return d
}

// subtractUnits takes back the units of a request from the levels of its path. Shadow levels that would have refused it
// did not count them.
func subtractUnits(levels []levelReply, path store.Path, units, shadow int64) {
	for i, number := range path.Levels {
		if shadow&(1<<i) != 0 {
			continue
		}
		used := levels[number-1].used
		for w := range used {
			used[w] -= units
		}
	}
}

// nested reads an array of want integers within a reply.
func nested(value any, want int) ([]int64, error) {
	reply, ok := value.([]any)
	if !ok || len(reply) != want {
		return nil, fmt.Errorf("reply holds %T of %d values, want %d", value, len(reply), want)
	}
	return integers(reply)
}

// integers reads a reply that must contain only integers.
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

// counts reads a reply of names and numbers in turn. The numbers are strings, as Redis returns those of a hash.
func counts(reply []any) (map[string]int64, error) {
	if len(reply)%2 != 0 {
		return nil, fmt.Errorf("reply of %d values is not made of pairs", len(reply))
	}
	byName := make(map[string]int64, len(reply)/2)
	for i := 0; i < len(reply); i += 2 {
		name, ok := reply[i].(string)
		if !ok {
			return nil, fmt.Errorf("reply holds %T at %d, want a name", reply[i], i)
		}
		n, err := strconv.ParseInt(fmt.Sprint(reply[i+1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", name, err)
		}
		byName[name] = n
	}
	return byName, nil
}

// maxTimeDigits is the length of the largest time in microseconds that the scripts read as a number.
const maxTimeDigits = 18

// splitEntry splits "<admitted at> <kind> <payload>". An entry of another form, which the relay did not write, has the
// time 0 and no kind, and is all payload. The scripts that take a claimed entry read it in the same way.
func splitEntry(entry []byte) (admittedAt int64, kind string, payload []byte) {
	admitted, rest, _ := bytes.Cut(entry, []byte(" "))
	first, payload, ok := bytes.Cut(rest, []byte(" "))
	at, err := strconv.ParseInt(string(admitted), 10, 64)
	canonical := len(admitted) <= maxTimeDigits && at > 0 && string(admitted) == strconv.FormatInt(at, 10)
	if !ok || err != nil || !canonical {
		return 0, "", entry
	}
	return at, string(first), payload
}
