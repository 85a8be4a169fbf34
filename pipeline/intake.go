package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/decisionlog"
	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ErrUnknownChannel is returned for a channel that is not configured.
var ErrUnknownChannel = errors.New("unknown channel")

// Admitter is the part of a limiter that an [Intake] calls. Each call ends within a time that the limiter bounds: a storm of
// events that it refuses by itself needs no timer.
type Admitter interface {
	// Admit decides up to [store.MaxBatch] requests in order, each in the light of those before it, and queues what it
	// admits. An error that is [store.ErrUnavailable] leaves open whether they were committed; a repeat spends nothing
	// twice. After any other error nothing was written.
	Admit(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error)
	// Promote decides delayed messages again, as Admit does.
	Promote(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error)
	// Force admits requests past the limits, as Admit does.
	Force(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error)
	// CountMuted counts n events that were received and muted.
	CountMuted(ctx context.Context, scope store.Channel, n int64) error
}

// DelayedQueue is the part of an outbox that an [Intake] calls.
type DelayedQueue interface {
	// Delayed lists the delayed messages that may be asked for next: the oldest of each category.
	Delayed(ctx context.Context, channel store.Channel) ([]store.DelayedMessage, error)
}

// Silencer finds the silence that mutes an event; the Silencer of package silence does.
type Silencer interface {
	// Mutes returns the id of the silence; "" = none mutes the event.
	Mutes(e *events.Event) (id string)
}

// HeartbeatMatcher finds the heartbeat that an event is; [Heartbeats] do.
type HeartbeatMatcher interface {
	// Match returns its name, "" = it is none, and notes that it arrived, unless test is set.
	Match(channel string, e *events.Event, header http.Header, test bool) (name string)
}

// IntakeOptions configure an [Intake]. Limiter, Channels, Metrics and Wake are needed:
//
//	intake := pipeline.NewIntake(pipeline.IntakeOptions{
//		Limiter: limiter, Channels: channels, Metrics: metrics, Wake: courier.Wake,
//	})
type IntakeOptions struct {
	Limiter  Admitter
	Channels []Channel
	Metrics  *Metrics
	// Wake is called with the name of a channel as soon as something was queued for it. It must not block.
	Wake func(channel string)
	// Instances are the channels that templates made; nil = there are no templates.
	Instances *Instances
	// Silences mute events for a limited time; nil = there are none.
	Silences Silencer
	// SilenceNotices follow what silences mute; nil = nobody does.
	SilenceNotices *SilenceNotices
	// Heartbeats are events that are heartbeats of their sender, and are muted; nil = none are.
	Heartbeats HeartbeatMatcher
	// Recorder hands out what is received; nil = nobody can listen.
	Recorder *Recorder
	// Now is the clock of the rules' schedules. Default time.Now.
	Now func() time.Time
	// Outbox lists delayed messages; nil = nothing is delayed.
	Outbox DelayedQueue
	// Logger gets a line when a limit is reached and when events fit again. Default: nothing is logged.
	Logger *slog.Logger
	// Tracer makes a span of each call of the limiter for a traced webhook; nil = none are made.
	Tracer trace.Tracer
	// Problems keeps what is known of problems, for holds, flapping alerts and inhibitions; nil = channels have none of them.
	Problems ProblemStore
	// Missed are the events that passed while Problems was unavailable. Default: none, known to this Intake alone.
	Missed *MissedEvents
	// Inhibitions mute events while others fire.
	Inhibitions []*problem.CompiledInhibition
	// Decisions gets a line for the outcome of each event; nil = nothing is written.
	Decisions *decisionlog.Log
	// Timeout bounds one listing of delayed messages. Default 2 s.
	Timeout time.Duration
}

// Intake admits the events of webhooks.
type Intake struct {
	opts     IntakeOptions
	limits   *limitLog
	channels map[string]*RequestBuilder
	problems *problems // nil = no channel has to do with them
	reminds  bool      // people are reminded of messages of a channel
}

// NewIntake returns an Intake.
func NewIntake(opts IntakeOptions) *Intake {
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Missed = cmp.Or(opts.Missed, &MissedEvents{})
	in := &Intake{opts: opts, limits: newLimitLog(opts.Logger), channels: map[string]*RequestBuilder{}}
	for i := range opts.Channels {
		ch := &opts.Channels[i]
		in.channels[ch.Name] = ch.RequestBuilder()
		if opts.Metrics != nil && !isLane(ch.Name) {
			opts.Metrics.initForced(ch.Name, len(opts.Channels))
		}
	}
	in.problems = newProblems(in)
	in.reminds = opts.Problems != nil && in.anyReminds()
	return in
}

// Channel returns a channel by its name; nil = there is none.
func (in *Intake) Channel(name string) *Channel {
	if ch := in.channel(name); ch != nil {
		return ch.Channel
	}
	return nil
}

// channel returns a channel, or a test lane, by its name; nil = there is none.
func (in *Intake) channel(name string) *RequestBuilder {
	if ch, ok := in.channels[name]; ok {
		return ch
	}
	return in.opts.Instances.builder(name)
}

// admit asks the limiter for classified events of one channel. forced admits them past the limits. After an error, the
// receipt covers the events that were decided before it.
func (in *Intake) admit(ctx context.Context, channel string, all []events.Event, forced bool) (Receipt, error) {
	ch := in.channel(channel)
	if ch == nil {
		return Receipt{}, fmt.Errorf("channel %q: %w", channel, ErrUnknownChannel)
	}
	decide := in.opts.Limiter.Admit
	if forced {
		decide = in.opts.Limiter.Force
	}
	asked := in.opts.Decisions.Now()
	decisions, err := in.decideAll(ctx, ch, decide, ch.admissions(all))
	all = all[:len(decisions)]
	in.recordDecisions(asked, all, decisions)
	receipt := newReceipt(all, decisions)
	if receipt.Admitted > 0 || receipt.Merged > 0 {
		in.opts.Wake(channel)
	}
	in.opts.Metrics.countReceived(all, decisions)
	if forced {
		receipt.Forced = receipt.Admitted
		in.opts.Metrics.countForced(channel, receipt.Forced)
	} else {
		in.limits.observe(ctx, all, decisions)
	}
	return receipt, err
}

// decideAll asks the limiter, in as few calls as its bound allows. After a failed call the rest is not asked for, so that the
// order of the webhook is kept.
func (in *Intake) decideAll(
	ctx context.Context, ch *RequestBuilder, decide store.DecideFunc, requests []store.Request,
) ([]store.Decision, error) {
	if len(requests) <= ratelimit.MaxBatch {
		return in.decideBatch(ctx, ch, decide, requests)
	}
	decisions := make([]store.Decision, 0, len(requests))
	for len(requests) > 0 {
		n := min(len(requests), ratelimit.MaxBatch)
		some, err := in.decideBatch(ctx, ch, decide, requests[:n])
		if err != nil {
			return decisions, err
		}
		clear(requests[:n]) // the payloads are no longer needed
		decisions = append(decisions, some...)
		requests = requests[n:]
	}
	return decisions, nil
}

// decideBatch makes one call of the limiter. The call continues when the sender hangs up: a call that is cut leaves open
// whether it was committed.
func (in *Intake) decideBatch(
	ctx context.Context, ch *RequestBuilder, decide store.DecideFunc, requests []store.Request,
) ([]store.Decision, error) {
	ctx, span := beginSpan(context.WithoutCancel(ctx), in.opts.Tracer, "admit")
	defer span.End()
	answer, err := decide(ctx, ch.Scope(), requests)
	traceDecisions(span, ch.Name, answer.Decisions, err)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", ch.Name, err)
	}
	return answer.Decisions, nil
}
