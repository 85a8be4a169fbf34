package server

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/pipeline"
)

// arrival is a request that has a span as soon as its sender is known: whoever is refused makes none.
type arrival struct {
	at   time.Time
	span trace.Span // nil = not yet
}

// arrivalKey is where the context of a request has its arrival.
type arrivalKey struct{}

// traced ends the span of a request whose sender became known, with the status of the answer.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.opts.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &arrival{at: time.Now()}
		answer := &answered{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			if a.span != nil {
				a.span.End()
			}
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, a)))
		if a.span == nil {
			return
		}
		a.span.SetAttributes(attribute.Int("http.response.status_code", answer.status))
		if answer.status >= http.StatusInternalServerError {
			a.span.SetStatus(codes.Error, http.StatusText(answer.status))
		}
	})
}

// known begins the span of a request whose sender is known, in the sender's trace where it has one; that of a channel which
// asks for no credential counts only where strangers may decide what is traced. A path and a query may hold a token, so the
// span has the route instead; for that no ready-made instrumentation is used.
func (s *Server) known(r *http.Request, stranger bool) {
	a, ok := r.Context().Value(arrivalKey{}).(*arrival)
	if !ok || a.span != nil {
		return
	}
	ctx := r.Context()
	if !stranger || s.opts.TraceStrangers {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	_, a.span = s.opts.Tracer.Start(ctx, "webhook "+r.Pattern, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(a.at),
		trace.WithAttributes(attribute.String("http.route", r.Pattern)))
}

// inTrace is the context of a request, with its span.
func inTrace(r *http.Request) context.Context {
	if a, ok := r.Context().Value(arrivalKey{}).(*arrival); ok && a.span != nil {
		return trace.ContextWithSpan(r.Context(), a.span)
	}
	return r.Context()
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
