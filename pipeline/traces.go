package pipeline

import (
	"context"
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

// A trace continues from the webhook over the outbox to Slack's answer, whichever replica posts: each event carries the trace
// of its webhook. No attribute contains what a sender wrote, nor a URL of Slack's, which may be a secret.

// traceHeader is the header, and the propagation key, of a span.
const traceHeader = "traceparent"

// traceparent returns the name of the span of ctx; "" where it is not traced.
func traceparent(ctx context.Context, tracer trace.Tracer) string {
	if tracer == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceHeader]
}

// beginSpan starts a span within a trace. Where ctx is not traced, it starts none.
func beginSpan(ctx context.Context, tracer trace.Tracer, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if tracer == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, noop.Span{}
	}
	return tracer.Start(ctx, name, opts...)
}

// traceDecisions adds the limiter's decisions to a span.
func traceDecisions(span trace.Span, channel string, decisions []store.Decision, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("relay.channel", channel))
	if err != nil {
		span.SetStatus(codes.Error, "the limiter is unavailable")
		return
	}
	counts := map[string]int{}
	for i := range decisions {
		d := &decisions[i]
		counts[outcomeOf(d)]++
		if level := levelOf(d); level != "" {
			span.SetAttributes(attribute.String("relay.level", level)) // of the last drop
		}
	}
	for outcome, n := range counts {
		span.SetAttributes(attribute.Int("relay."+outcome, n))
	}
	span.SetAttributes(attribute.String("relay.decided_by", string(decisions[0].DecidedBy)))
}

// continueTrace starts a span in the trace of an entry's events: that of the first of them.
func (d *delivery) continueTrace(
	ctx context.Context, name string, began time.Time, entry store.Entry, all []events.Event,
) (context.Context, trace.Span) {
	if d.opts.Tracer == nil || len(all) == 0 || all[0].Trace == "" {
		return ctx, noop.Span{}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceHeader: all[0].Trace})
	attributes := trace.WithAttributes(
		attribute.String("relay.channel", d.channel.Name),
		attribute.String("relay.kind", entry.Kind),
		attribute.Int64("relay.number", entry.Number),
		attribute.Int("relay.events", len(all)),
		attribute.Int64("relay.attempt", entry.Attempts+1),
		attribute.Float64("relay.waited_seconds", entry.Age.Seconds()),
	)
	return beginSpan(ctx, d.opts.Tracer, name, trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindConsumer), attributes)
}

// traceAnswer adds Slack's answer to a span.
func traceAnswer(span trace.Span, receipt notifier.Receipt, err error) {
	if err == nil {
		span.SetAttributes(attribute.String("slack.channel", receipt.Channel), attribute.String("slack.ts", receipt.TS))
		return
	}
	reason := string(failureOf(err).Reason)
	span.SetAttributes(attribute.String("error.type", reason))
	span.SetStatus(codes.Error, reason)
}
