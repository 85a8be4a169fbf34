package pipeline

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// A trace goes from the webhook over the outbox to Slack's answer, whichever replica posts: an event carries its
// webhook's. No attribute holds what a sender wrote, nor an address of Slack's, which may be a secret.

// traceHeader is the header, and the key of propagation, that names a span.
const traceHeader = "traceparent"

// traceparent names the span of ctx; "" where it is not traced.
func traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceHeader]
}

// beginSpan begins a span within a trace; it begins no trace.
func beginSpan(ctx context.Context, tracer trace.Tracer, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if tracer == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, noop.Span{}
	}
	return tracer.Start(ctx, name, opts...)
}

// sayDecisions says what the limiter decided.
func sayDecisions(span trace.Span, channel string, decisions []store.Decision, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("relay.channel", channel))
	if err != nil {
		span.SetStatus(codes.Error, "the limits could not be asked")
		return
	}
	counts := map[string]int{}
	for _, d := range decisions {
		counts[outcomeOf(d)]++
		if level := levelOf(d); level != "" {
			span.SetAttributes(attribute.String("relay.level", level)) // of the last that was refused
		}
	}
	for outcome, n := range counts {
		span.SetAttributes(attribute.Int("relay."+outcome, n))
	}
	span.SetAttributes(attribute.String("relay.decided_by", string(decisions[0].DecidedBy)))
}

// continueTrace begins a span in the trace of the events that an entry tells of: of the first of them.
func (d *delivery) continueTrace(ctx context.Context, name string, began time.Time, entry store.Entry, all []events.Event) (context.Context, trace.Span) {
	if d.opts.Tracer == nil || len(all) == 0 || all[0].Trace == "" {
		return ctx, noop.Span{}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceHeader: all[0].Trace})
	return beginSpan(ctx, d.opts.Tracer, name, trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("relay.channel", d.channel.Name), attribute.String("relay.kind", entry.Kind), attribute.Int64("relay.number", entry.Number),
		attribute.Int("relay.events", len(all)), attribute.Int64("relay.attempt", entry.Attempts+1), attribute.Float64("relay.waited_seconds", entry.Age.Seconds()),
	))
}

// sayAnswer says what Slack answered.
func sayAnswer(span trace.Span, receipt notifier.Receipt, err error) {
	if err == nil {
		span.SetAttributes(attribute.String("slack.channel", receipt.Channel), attribute.String("slack.ts", receipt.TS))
		return
	}
	reason := notifier.Network
	if failure, ok := errors.AsType[*notifier.Error](err); ok {
		reason = failure.Reason
	}
	span.SetAttributes(attribute.String("error.type", string(reason)))
	span.SetStatus(codes.Error, string(reason))
}

// settled counts the result of an attempt, and says it in its trace.
func (d *delivery) settled(ctx context.Context, result string) {
	d.opts.Metrics.settled(d.channel.Name, result)
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.String("relay.result", result))
	switch result {
	case resultFailed, resultRetried, resultUnsettled, resultExpired, resultUnknown:
		span.SetStatus(codes.Error, result)
	}
}
