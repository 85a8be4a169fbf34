package server

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/pipeline"
)

// traced makes a span of each request, in the sender's trace where it has one. A path and a query may hold a token, so the
// span has the route instead; for that no ready-made instrumentation is used.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.opts.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := s.opts.Tracer.Start(ctx, "webhook "+r.Pattern, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.route", r.Pattern)))
		defer span.End()
		answer := &answered{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", answer.status))
		if answer.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(answer.status))
		}
	})
}

// answered remembers the status of a reply.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// sayTaken says what became of a webhook.
func sayTaken(span trace.Span, a arrived, receipt pipeline.Receipt) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("relay.channel", a.channel), attribute.String("relay.source", a.events[0].Source), attribute.String("relay.sender", a.sender),
		attribute.Int("relay.received", receipt.Received), attribute.Int("relay.admitted", receipt.Admitted), attribute.Int("relay.dropped", receipt.Dropped),
		attribute.Int("relay.duplicate", receipt.Duplicate), attribute.Int("relay.muted", receipt.Muted), attribute.Int("relay.merged", receipt.Merged),
		attribute.Int("relay.delayed", receipt.Delayed), attribute.Bool("relay.durable", receipt.Durable),
	)
}
