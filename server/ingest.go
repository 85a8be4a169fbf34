package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"slackrelay/pipeline"
)

// Intake decides on the events of webhooks; *pipeline.Intake implements it.
type Intake interface {
	Admit(ctx context.Context, a pipeline.Arrival) (pipeline.Receipt, error)
}

// ingestRequest is a request of the public listener while it is served. Each step adds what it found out.
type ingestRequest struct {
	w       http.ResponseWriter
	r       *http.Request
	now     time.Time
	address netip.Addr // of the sender; see addressList.client
	source  string     // that the path names; "" = none

	// token is presented outside of the Authorization header, as tools for Slack do; "" = none.
	token string
	body  *body // nil = not read yet

	span     trace.Span // does nothing as long as the sender is not known, and without a tracer
	reserved reservation
	gate     gatePass
}

// endpoint adapts a handler of the public listener: it bounds the requests of an address, traces the request, and writes the
// reply of the handler's error.
func (s *Server) endpoint(
	handle func(in *ingestRequest) error, writeError func(w http.ResponseWriter, r *http.Request, err error),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := &ingestRequest{w: w, r: r, now: time.Now(), address: s.proxies.client(r), span: noop.Span{}}
		var recorder *statusRecorder
		if s.opts.Tracer != nil {
			recorder = &statusRecorder{ResponseWriter: w, status: http.StatusOK}
			in.w = recorder
			defer func() { in.span.End() }()
		}
		if err := s.inSlot(in, handle); err != nil {
			writeError(in.w, r, err)
		}
		if recorder != nil {
			in.annotateStatus(recorder.status)
		}
	})
}

// inSlot handles a request while it counts among those of its address that are in flight, and releases its memory.
func (s *Server) inSlot(in *ingestRequest, handle func(in *ingestRequest) error) error {
	if !s.inFlight.acquire(in.address) {
		return errorf(unavailable, "more than %d webhooks from this address are in flight (max_concurrent); send the request again",
			s.inFlight.limit)
	}
	defer s.inFlight.release(in.address)
	in.reserved = s.bodyBudget.reserve(in.address)
	defer in.release()
	return handle(in)
}

// ingest serves /hooks/{channel} and /hooks/{channel}/{source}.
func (s *Server) ingest(in *ingestRequest) error {
	in.source = in.r.PathValue("source")
	if err := in.requirePost(); err != nil {
		return err
	}
	from, err := s.identify(in, in.r.PathValue("channel"))
	if err != nil {
		return err
	}
	arrival, receipt, err := s.accept(in, from)
	if err != nil {
		return err
	}
	in.release() // a sender that does not read the reply must not occupy what others need
	throttles := slices.Contains(s.ingresses[arrival.Channel].throttled, arrival.Events[0].Source)
	if seconds, all := allDropped(receipt); all && throttles {
		in.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		return errorf(throttled, "channel %q is over its limits; all %d events were dropped and counted", arrival.Channel, receipt.Dropped)
	}
	writeReceipt(in.w, &receipt)
	return nil
}

// accept decodes the body of a sender, and passes its events to the intake.
func (s *Server) accept(in *ingestRequest, from sender) (arrival pipeline.Arrival, receipt pipeline.Receipt, err error) {
	if err = s.parse(in); err != nil {
		return arrival, receipt, err
	}
	if arrival, err = s.decode(in, from); err != nil {
		return arrival, receipt, err
	}
	receipt, err = s.submit(in, arrival)
	return arrival, receipt, err
}

func (in *ingestRequest) requirePost() error {
	if in.r.Method == http.MethodPost {
		return nil
	}
	in.w.Header().Set("Allow", http.MethodPost)
	return errorf(methodNotAllowed, "webhooks must be sent by POST, not by %s", in.r.Method)
}

// query returns the parameters of the query; nil = there are none.
func (in *ingestRequest) query() url.Values {
	if in.r.URL.RawQuery == "" {
		return nil
	}
	return in.r.URL.Query()
}

// release returns the memory that the request occupies. It may be called more than once.
func (in *ingestRequest) release() {
	if in.body != nil {
		in.body.release()
	}
	in.reserved.release()
	in.gate.leave()
}

// checkTestLane refuses events for the test lane where there is none.
func (s *Server) checkTestLane(arrival pipeline.Arrival) error {
	if s.opts.NoTestLane && arrival.Test {
		return errorf(forbidden, "?test=1 is refused: test_lane is false")
	}
	return nil
}

// submit passes the events of a request to the intake.
func (s *Server) submit(in *ingestRequest, arrival pipeline.Arrival) (pipeline.Receipt, error) {
	if err := s.checkTestLane(arrival); err != nil {
		return pipeline.Receipt{}, err
	}
	ctx := in.r.Context()
	if s.opts.Tracer != nil {
		ctx = trace.ContextWithSpan(ctx, in.span)
	}
	receipt, err := s.opts.Intake.Admit(ctx, arrival)
	if err != nil {
		return receipt, err //nolint:wrapcheck // the reply depends on its kind
	}
	if in.span.IsRecording() {
		in.annotate(arrival, receipt)
	}
	if s.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		s.opts.Logger.DebugContext(ctx, "webhook accepted",
			"channel", arrival.Channel, "sender", arrival.Sender, "source", arrival.Events[0].Source, "received", receipt.Received,
			"admitted", receipt.Admitted, "dropped", receipt.Dropped, "duplicate", receipt.Duplicate, "muted", receipt.Muted)
	}
	return receipt, nil
}

// allDropped reports whether all events of a webhook were dropped, and in how many seconds the first of them would fit.
func allDropped(receipt pipeline.Receipt) (seconds int, all bool) {
	if receipt.Dropped == 0 || receipt.Dropped != receipt.Received {
		return 0, false
	}
	wait := -1.0
	for _, e := range receipt.Events {
		if e.RetryAfter != nil && (wait < 0 || *e.RetryAfter < wait) {
			wait = *e.RetryAfter
		}
	}
	return max(1, int(wait)+1), true
}
