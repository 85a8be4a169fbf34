package simulation

import (
	"cmp"
	"slices"
	"time"

	"slackrelay/store"
)

// tally counts what happens to the events of a trace. Times are since its beginning.
type tally struct {
	Result
	categories map[string]*counted
	problems   *problems
	length     time.Duration     // of the trace
	queued     map[int64]decided // the admitted events that are not posted yet, by the number of their entry
}

// decided is what was decided about an event.
type decided struct {
	category    string
	isCritical  bool // and begins an alert
	isResolve   bool
	fingerprint string // "" = none
	outcome     store.Outcome
	payload     []byte // nil = it is not known
	number      int64  // of its entry; 0 = it has none
}

func newTally(setting *Setting, trace Trace) *tally {
	t := &tally{
		Result:     Result{Name: setting.Name, Step: stepOf(trace.Length())},
		categories: map[string]*counted{}, queued: map[int64]decided{}, problems: newProblems(setting), length: trace.Length(),
	}
	n := int(trace.Length()/t.Step) + 1
	t.PostedPerStep = make([]int64, n)
	t.ReceivedPerStep = make([]int64, n)
	return t
}

// receive counts an event that arrives.
func (t *tally) receive(e *Event, at time.Duration) {
	c := t.of(e.Category)
	if c.Received == 0 {
		c.first = at
	}
	c.last = at
	c.Received++
	if e.isCritical() {
		c.Critical++
	}
	t.Received++
	t.ReceivedPerStep[at/t.Step]++
	t.problems.receive(e, at)
}

// make counts an event that the relay itself makes: it is not one of the trace.
func (t *tally) make(category string, at time.Duration) {
	c := t.of(category)
	if c.Received == 0 && c.Sent+c.Dropped+c.Merged == 0 {
		c.first = at
	}
	c.last = at
}

func (t *tally) of(category string) *counted {
	c := t.categories[category]
	if c == nil {
		c = &counted{Category: Category{Category: category}, heard: -1}
		t.categories[category] = c
	}
	return c
}

// decide counts a decision about an event.
func (t *tally) decide(at time.Duration, d decided) {
	c := t.of(d.category)
	t.problems.decide(at, d.payload, d.outcome, d.number)
	if d.isResolve {
		c.endAlert(at, d.fingerprint)
	}
	switch d.outcome.CountedAs() {
	case store.Duplicate:
		t.Duplicate++
		c.Duplicate++
	case store.Admitted:
		t.Sent++
		c.Sent++
		c.wait(at, &d)
		if d.number > 0 {
			t.queued[d.number] = d
		}
	case store.Merged:
		t.Merged++
		c.Merged++
		c.hear(at)
	case store.Delayed:
		c.wait(at, &d)
	case store.Dropped:
		t.Dropped++
		c.Dropped++
		t.lose(d)
		c.wait(at, &d)
	default: // a store returns no other
	}
}

// lose counts an event that will not be shown.
func (t *tally) lose(d decided) {
	if d.isCritical {
		t.CriticalLost++
	}
}

// post counts a message that is posted.
func (t *tally) post(at time.Duration, number int64) {
	if d, ok := t.queued[number]; ok {
		delete(t.queued, number)
		t.of(d.category).hear(at)
		t.problems.post(at, number)
	}
	t.Messages++
	step := int(at / t.Step)
	if limit := 2 * len(t.ReceivedPerStep); step >= limit {
		return // long after the last event
	}
	for step >= len(t.PostedPerStep) {
		t.PostedPerStep = append(t.PostedPerStep, 0)
	}
	t.PostedPerStep[step]++
}

// postDigest counts a digest that is posted.
func (t *tally) postDigest(at time.Duration) {
	t.Digests++
	t.post(at, 0)
}

// edit counts an edit of a message.
func (t *tally) edit() { t.Edits++ }

// expire counts a message that was too old to be posted.
func (t *tally) expire(number int64) {
	if d, ok := t.queued[number]; ok {
		delete(t.queued, number)
		t.of(d.category).Expired++
		t.lose(d)
	}
}

// total counts what only the ledger knows: what was muted or counted as flapping did not reach the limiter.
func (t *tally) total(ledger store.Ledger) {
	t.Muted = ledger.Muted
	t.Merged = ledger.Merged
	t.Duplicate = ledger.Duplicate
	t.Expired = ledger.Expired
}

// result completes the counts.
func (t *tally) result() Result {
	t.problems.count(&t.Result, t.length)
	t.Categories = make([]Category, 0, len(t.categories))
	for _, c := range t.categories {
		c.endSilence(max(c.last, c.waiting.since))
		if c.heard >= 0 {
			delay := (c.heard - c.first).Seconds()
			c.FirstNoticeDelay = &delay
		}
		t.Categories = append(t.Categories, c.Category)
	}
	slices.SortFunc(t.Categories, func(a, b Category) int {
		return cmp.Or(cmp.Compare(b.Received, a.Received), cmp.Compare(a.Category, b.Category))
	})
	for i := range t.Categories {
		t.sum(&t.Categories[i])
	}
	return t.Result
}

// sum adds a category to what is counted of all.
func (t *tally) sum(c *Category) {
	switch {
	case c.IsUnheard():
		t.Unheard++
		if c.Critical > 0 {
			t.UnheardCritical++
		}
	case c.LongestSilence > t.LongestSilence:
		t.LongestSilence = c.LongestSilence
		t.LongestSilent = c.Category
	}
}

// chartSteps is how many steps a chart has at most.
const chartSteps = 120

// stepOf returns the step in which a trace of a length is counted: the shortest round one that makes no more than chartSteps.
func stepOf(length time.Duration) time.Duration {
	steps := []time.Duration{
		10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour, 6 * time.Hour,
	}
	for _, step := range steps {
		if length <= chartSteps*step {
			return step
		}
	}
	const day = 24 * time.Hour
	return (length/chartSteps + day).Truncate(day)
}
