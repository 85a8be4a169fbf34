package server

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/pipeline"
)

// startSpan starts the span of a request, once its sender is known: refused requests are not traced. The span continues the
// sender's trace; in a channel without credentials only if TraceUnauthenticated is set. A path and a query may contain a token,
// so the span has the route instead, which no ready-made instrumentation does.
func (s *Server) startSpan(in *ingestRequest, authenticated bool) {
	if s.opts.Tracer == nil || in.span.SpanContext().IsValid() {
		return
	}
	ctx := in.r.Context()
	if authenticated || s.opts.TraceUnauthenticated {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(in.r.Header))
	}
	_, in.span = s.opts.Tracer.Start(ctx, "webhook "+in.r.Pattern, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(in.now), trace.WithAttributes(attribute.String("http.route", in.r.Pattern)))
}

// annotateStatus adds the status of the reply to the span.
func (in *ingestRequest) annotateStatus(status int) {
	in.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		in.span.SetStatus(codes.Error, http.StatusText(status))
	}
}

// annotate adds the outcome of a webhook to its span.
func (in *ingestRequest) annotate(arrival pipeline.Arrival, receipt pipeline.Receipt) {
	in.span.SetAttributes(
		attribute.String("relay.channel", arrival.Channel),
		attribute.String("relay.source", arrival.Events[0].Source),
		attribute.String("relay.sender", arrival.Sender),
		attribute.Int("relay.received", receipt.Received),
		attribute.Bool("relay.durable", receipt.Durable),
	)
	for outcome, n := range receipt.Counts() {
		in.span.SetAttributes(attribute.Int("relay."+outcome, n))
	}
}

// statusRecorder remembers the status of a reply.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the underlying writer.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
