package pipeline

import (
	"context"
	"errors"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// admitOpen decides events of one channel that no rule or silence mutes: those that are not held, counted or inhibited go to
// the limiter.
func (in *Intake) admitOpen(ctx context.Context, channel string, all []events.Event) (Receipt, error) {
	ch := in.channel(channel)
	if in.problems == nil || ch == nil {
		return in.admit(ctx, channel, all, false)
	}
	asked := in.opts.Decisions.Now()
	verdicts, unseen := in.problems.observe(ctx, ch, all)
	receipt := Receipt{Durable: true, Events: make([]EventReceipt, len(all))}
	var passing []events.Event
	var places []int
	for i := range all {
		if verdicts[i].Action != problem.Pass {
			receipt.addKept(&all[i], i, verdicts[i])
			receipt.Durable = receipt.Durable && in.problems.store.Durable()
			in.opts.Metrics.countKept(&all[i], outcomeOfAction[verdicts[i].Action])
			in.recordOutcome(asked, &all[i], outcomeOfAction[verdicts[i].Action], verdicts[i].By)
			continue
		}
		e := all[i]
		e.Note = joinNotes(e.Note, verdicts[i].Note)
		passing, places = append(passing, e), append(places, i)
	}
	if len(passing) == 0 {
		return receipt, nil
	}
	partial, err := in.admit(ctx, channel, passing, false)
	receipt.add(partial, places)
	in.problems.remember(ctx, unseen, err == nil, partial.Durable)
	if err == nil {
		in.problems.sayFlapping(ctx, ch, passing)
	}
	return receipt, err
}

// outcomeOfAction is the outcome that an event has in receipts and counts.
var outcomeOfAction = map[problem.Action]store.Outcome{
	problem.Hold: store.Delayed, problem.Mute: store.Muted, problem.Merge: store.Merged, problem.Duplicate: store.Duplicate,
}

// addKept includes an event that does not go to the limiter.
func (r *Receipt) addKept(e *events.Event, place int, verdict problem.Verdict) {
	outcome := outcomeOfAction[verdict.Action]
	r.Received++
	r.count(outcome)
	r.Events[place] = EventReceipt{
		ID: e.ID, Category: e.Category, Outcome: outcome.String(), By: verdict.By, Explanation: verdict.Why,
	}
}

// countKept counts an event that does not go to the limiter.
func (m *Metrics) countKept(e *events.Event, outcome store.Outcome) {
	m.received.WithLabelValues(m.channels.Of(e.Channel), e.Source).Inc()
	m.decided(e, outcome.String(), "").Inc()
}

// sayFlapping posts after a resolve that its alert began to flap with it. What fails here is posted when the document wakes.
func (p *problems) sayFlapping(ctx context.Context, ch *RequestBuilder, passed []events.Event) {
	if ch.Flapping.Changes == 0 {
		return
	}
	var names []string
	for i := range passed {
		if passed[i].Status == events.Resolved && isAlert(&passed[i]) {
			names = append(names, problemName(&passed[i]))
		}
	}
	for len(names) > 0 {
		some := names[:min(len(names), store.MaxProblems)]
		names = names[len(some):]
		batch, err := p.load(ctx, ch, compacted(some))
		if err != nil || !batch.pending() {
			continue
		}
		if err := batch.wake(context.WithoutCancel(ctx)); err != nil {
			p.in.opts.Logger.DebugContext(ctx, "a flapping alert is posted later", "channel", ch.Name, "error", err)
		}
	}
}

// admitReleased admits events that waited, or that the relay made.
func (in *Intake) admitReleased(
	ctx context.Context, ch *RequestBuilder, all []events.Event, outs []*problem.Out,
) ([]store.Decision, error) {
	asked := in.opts.Decisions.Now()
	decisions, err := in.decideAll(ctx, ch, in.opts.Limiter.Admit, ch.admissions(all))
	if err != nil {
		return nil, err
	}
	in.recordDecisions(asked, all, decisions)
	for i := range all {
		if outs[i].Made {
			in.opts.Metrics.countReceived(all[i:i+1], decisions[i:i+1])
		} else {
			in.opts.Metrics.countDecided(&all[i], &decisions[i], 1)
		}
	}
	in.limits.observe(ctx, all, decisions)
	in.opts.Wake(ch.Name)
	return decisions, nil
}

// ProblemWork returns who looks at the documents of problems: of all channels that have them, and, after a reload, of those
// that had them.
func (in *Intake) ProblemWork(queue ProblemQueue) ProblemWork {
	work := ProblemWork{
		Queue: queue, Handlers: map[string]ProblemHandler{problemOwner: in.LookAtProblems}, Report: in.ReportMissed,
	}
	work.Made = func(ch *Channel) bool {
		follows := in.problems != nil && (in.problems.followsAll(ch) || len(in.problems.inhibitions) > 0)
		return follows || ch.Remind.After > 0
	}
	for _, ch := range in.channels {
		if work.Made(ch.Channel) {
			work.Channels = append(work.Channels, ch.Scope())
		}
	}
	return work
}

// LookAtProblems looks at documents of problems that are due: a hold ends, a flapping alert is stable, or the source of an
// inhibition may have ended. It is a [ProblemHandler], also of channels that have no such feature any more.
func (in *Intake) LookAtProblems(ctx context.Context, channel store.Channel, now int64, due []store.Problem) error {
	ch := in.channel(channel.Name)
	p := in.problems
	if p == nil {
		p = &problems{in: in, store: in.opts.Problems}
	}
	if ch == nil {
		return nil // its configuration is gone
	}
	if err := p.reportMissed(ctx); err != nil {
		return err
	}
	err := p.wakeDue(ctx, ch, now, due)
	if err == nil || len(due) == 1 || errors.Is(err, ratelimit.ErrUnavailable) {
		return err
	}
	var faults []error // of one of them, probably: the others do not wait for it
	for i := range due {
		faults = append(faults, p.wakeDue(ctx, ch, now, due[i:i+1]))
	}
	return errors.Join(faults...)
}

func (p *problems) wakeDue(ctx context.Context, ch *RequestBuilder, now int64, due []store.Problem) error {
	batch, err := p.batchOf(ch, now, due)
	if err != nil {
		return err
	}
	return batch.wake(ctx)
}

// compacted returns names once each.
func compacted(names []string) []string {
	seen := make(map[string]bool, len(names))
	once := names[:0:0]
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}
