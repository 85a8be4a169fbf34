package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/configs"
)

const (
	// spansEvery is how long finished spans wait to be sent together.
	spansEvery = time.Second
	// spansFlush is how long the last ones may take when the relay stops.
	spansFlush = 3 * time.Second
)

// newTraces makes what traces webhooks, and what ends it; the tracer is nil where none are wanted. A collector that is away,
// or too slow for a storm, costs spans and nothing else.
func newTraces(ctx context.Context, cfg configs.Config, log *slog.Logger) (tracer trace.Tracer, stop func(ctx context.Context), err error) {
	if cfg.OtlpEndpoint == "" {
		return nil, func(context.Context) {}, nil
	}
	headers, _ := cfg.TraceHeaders() // validated before
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(cfg.TraceURL()), otlptracehttp.WithHeaders(headers), otlptracehttp.WithProxy(noRedirect))
	if err != nil {
		return nil, nil, fmt.Errorf("export traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "slackrelay"), attribute.String("service.version", versionText()),
	), resource.WithHost(), resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, as every program has them
	if err != nil {
		log.WarnContext(ctx, "OTEL_RESOURCE_ATTRIBUTES cannot be read", "error", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.WarnContext(ctx, "traces could not be exported", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(spansEvery)), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.TraceRatio))),
	)
	return provider.Tracer("slackrelay"), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spansFlush)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.WarnContext(ctx, "the last traces could not be exported", "error", err)
		}
	}, nil
}

// noRedirect chooses the proxy of a request as every program does, and refuses one that follows a redirect: it would take
// otlp_headers to wherever the answer says. The exporter's client is kept for its own certificates.
func noRedirect(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errors.New("the collector answered with a redirect, which the relay does not follow; set otlp_endpoint to its target")
	}
	return http.ProxyFromEnvironment(r) //nolint:wrapcheck // it names the variable
}
