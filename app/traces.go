package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// spanBatchDelay is how long finished spans wait to be sent together.
	spanBatchDelay = time.Second
	// spanFlushTimeout bounds sending the last spans when the relay stops.
	spanFlushTimeout = 3 * time.Second
)

// openTraces makes the tracer, or none where otlp_endpoint is not set. A collector that is away, or too slow for a storm, costs
// spans and nothing else.
func (r *Relay) openTraces(ctx context.Context) error {
	if r.started.OtlpEndpoint == "" {
		return nil
	}
	headers, _ := r.started.TraceHeaders() // validated before
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(r.started.TraceURL()), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithProxy(refuseRedirect))
	if err != nil {
		return fmt.Errorf("export traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		r.log.WarnContext(ctx, "trace export failed", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(spanBatchDelay)), sdktrace.WithResource(r.traceResource(ctx)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(r.started.TraceRatio))),
	)
	r.tracer = provider.Tracer("slackrelay")
	r.flushTraces = func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spanFlushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			r.log.WarnContext(ctx, "last traces not exported", "error", err)
		}
	}
	return nil
}

// traceResource describes this process in every span. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES work as in other programs.
func (r *Relay) traceResource(ctx context.Context) *resource.Resource {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "slackrelay"), attribute.String("service.version", r.version),
	), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		r.log.WarnContext(ctx, "OTEL_RESOURCE_ATTRIBUTES is not valid", "error", err)
	}
	return about
}

// refuseRedirect chooses the proxy of a request from the environment, and fails for a request that follows a redirect: it would
// send otlp_headers to the target of the redirect. The exporter's client offers no other place for this that keeps its own
// certificates.
func refuseRedirect(request *http.Request) (*url.URL, error) {
	if request.Response != nil {
		return nil, errors.New("the collector answered with a redirect, which the relay does not follow; set otlp_endpoint to its target")
	}
	return http.ProxyFromEnvironment(request) //nolint:wrapcheck // it names the variable
}
