package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ProblemStore is the part of a store that an [Intake] keeps problems in. See [store.Problems].
type ProblemStore interface {
	Problems(ctx context.Context, channel store.Channel, names []string) (now int64, all []store.Problem, err error)
	SaveProblems(ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts) (bool, error)
	Durable() bool
}

// problemOwner begins the names of the documents of problems.
const problemOwner = "p"

// problems holds events, follows flapping alerts and applies inhibitions.
type problems struct {
	in          *Intake
	store       ProblemStore
	inhibitions []*problem.CompiledInhibition
	ruleHolds   bool // a rule of some channel holds events
}

// newProblems returns what the channels need; nil = no channel has anything to do with problems.
func newProblems(in *Intake) *problems {
	p := &problems{in: in, store: in.opts.Problems, inhibitions: in.opts.Inhibitions}
	used := len(p.inhibitions) > 0
	for _, ch := range in.channels {
		p.ruleHolds = p.ruleHolds || ch.Rules.Hold()
		used = used || ch.usesProblems()
	}
	for _, ch := range in.opts.Instances.examples() {
		used = used || ch.usesProblems()
	}
	if p.store == nil || !used && !p.ruleHolds {
		return nil
	}
	return p
}

// usesProblems reports whether the channel itself holds events or follows flapping alerts.
func (c *Channel) usesProblems() bool { return c.Hold > 0 || c.Flapping.Changes > 0 }

// followsAll reports whether all alerts of a channel are followed, not only the targets of inhibitions.
func (p *problems) followsAll(ch *Channel) bool {
	return p.ruleHolds || ch.usesProblems()
}

// problemSettings returns those of a channel.
func problemSettings(ch *RequestBuilder) problem.Settings {
	s := problem.Settings{Flapping: ch.Flapping}
	if ch.Handling != nil {
		s.Remember = ch.Handling.PostedFor
	}
	return s
}

// isAlert reports whether an event begins or ends an alert that can be recognised.
func isAlert(e *events.Event) bool {
	return e.Fingerprint != "" && (e.Status == events.Firing || e.Status == events.Resolved)
}

// problemKey identifies the problem of an event within its channel.
func problemKey(e *events.Event) string { return hashName(e.Source, e.Fingerprint) }

func problemName(e *events.Event) string { return problemOwner + "/" + problemKey(e) }

// follows reports whether an event is looked at.
func (p *problems) follows(ch *RequestBuilder, e *events.Event) bool {
	return isAlert(e) && (p.followsAll(ch.Channel) ||
		slices.ContainsFunc(p.inhibitions, func(i *problem.CompiledInhibition) bool { return i.IsTarget(e) }))
}

// errChanging is returned when other replicas change the same documents all the time.
var errChanging = errors.New("the documents change all the time")

// problemTries is how often a decision is made again because a document has changed meanwhile.
const problemTries = 10

// observe decides about events of one channel. The verdict of an event that is not followed is to pass. While the store is
// unavailable all events pass, and it returns those that it did not see: see [problems.remember].
func (p *problems) observe(
	ctx context.Context, ch *RequestBuilder, all []events.Event,
) (verdicts []problem.Verdict, unseen []missedEvent) {
	verdicts = make([]problem.Verdict, len(all))
	var places []int
	for i := range all {
		if p.follows(ch, &all[i]) {
			places = append(places, i)
		}
	}
	for some := range slices.Chunk(places, ratelimit.MaxBatch) {
		unseen = append(unseen, p.observeSome(ctx, ch, all, some, verdicts)...)
	}
	return verdicts, unseen
}

// observeSome decides about the events at these places. It returns those that pass because the store is unavailable.
func (p *problems) observeSome(
	ctx context.Context, ch *RequestBuilder, all []events.Event, places []int, verdicts []problem.Verdict,
) (unseen []missedEvent) {
	err := p.try(ctx, ch, all, places, verdicts)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrProblemsFull) && len(places) > 1:
		for _, i := range places { // some may have room
			unseen = append(unseen, p.observeSome(ctx, ch, all, []int{i}, verdicts)...)
		}
		return unseen
	}
	for _, i := range places {
		verdicts[i] = problem.Verdict{}
		if errors.Is(err, ratelimit.ErrUnavailable) {
			unseen = append(unseen, missedNow(&all[i]))
		}
	}
	p.in.opts.Logger.WarnContext(ctx, "events pass without holds, flapping and inhibitions", "channel", ch.Name, "error", err)
	return unseen
}

func (p *problems) try(ctx context.Context, ch *RequestBuilder, all []events.Event, places []int, verdicts []problem.Verdict) error {
	ctx = context.WithoutCancel(ctx)
	for range problemTries {
		batch, err := p.load(ctx, ch, namesAt(all, places))
		if err != nil {
			return err
		}
		if batch.pending() { // an event that waited goes before those that follow it
			if err := batch.wake(ctx); err != nil {
				return err
			}
			continue
		}
		inhibiting, err := p.inhibitors(ctx, batch.now, pointersAt(all, places))
		if err != nil {
			return err
		}
		for n, i := range places {
			e, err := observed(ch, &all[i], n)
			if err != nil {
				return err
			}
			e.Inhibition, e.Source = inhibiting[n].Inhibition, inhibiting[n].Source
			verdicts[i] = batch.observe(problemName(&all[i]), e)
		}
		saved, err := batch.save(ctx)
		if err != nil {
			return err
		}
		if saved {
			p.countUnheld(all, places, verdicts)
			return nil
		}
	}
	return errChanging
}

// observed returns what is decided about an event, the n-th of its webhook: those that are held together are released in
// their order.
func observed(ch *RequestBuilder, e *events.Event, n int) (problem.Event, error) {
	data, err := encodeKept(e)
	if err != nil {
		return problem.Event{}, err
	}
	hold := ch.Hold
	if e.Hold != nil {
		hold = *e.Hold
	}
	if hold > 0 {
		hold += time.Duration(n) * time.Microsecond
	}
	return problem.Event{ID: e.ID, Resolved: e.Status == events.Resolved, Data: data, Hold: hold}, nil
}

func namesAt(all []events.Event, places []int) []string {
	names := make([]string, len(places))
	for n, i := range places {
		names[n] = problemName(&all[i])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func pointersAt(all []events.Event, places []int) []*events.Event {
	pointers := make([]*events.Event, len(places))
	for n, i := range places {
		pointers[n] = &all[i]
	}
	return pointers
}

// countUnheld counts the events that waited and are muted now, with their resolves.
func (p *problems) countUnheld(all []events.Event, places []int, verdicts []problem.Verdict) {
	for _, i := range places {
		if verdicts[i].Unheld {
			p.in.opts.Metrics.decided(&all[i], store.Muted.String(), "").Inc()
		}
	}
}
