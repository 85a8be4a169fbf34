package server

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// arrived is a webhook that was let in and decoded.
type arrived struct {
	channel, sender string
	header          http.Header // that rules may ask
	events          []events.Event
}

// hook takes a webhook in: who sends it, what it says, what becomes of it.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) error {
	leave, err := s.enterByPost(w, r)
	if err != nil {
		return err
	}
	defer leave()
	h := s.hold(s.proxies.client(r))
	defer h.release()
	a, err := s.receive(w, r, h)
	if err != nil {
		return err
	}
	receipt, err := s.take(r, a)
	if err != nil {
		return err
	}
	h.release() // whoever does not read the answer holds nothing that others need
	if seconds, all := allDropped(receipt); all && slices.Contains(s.throttled[a.channel], a.events[0].Source) {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		return errorf(throttled, "channel %q is full; all %d events were dropped and counted", a.channel, receipt.Dropped)
	}
	s.writeJSON(w, r, http.StatusAccepted, receipt)
	return nil
}

// take has a webhook classified and asks the limits.
func (s *Server) take(r *http.Request, a arrived) (pipeline.Receipt, error) {
	if s.opts.NoTestLane && isTest(r) {
		return pipeline.Receipt{}, errorf(forbidden, "?test=1 is refused: test_lane is false")
	}
	r = r.WithContext(inTrace(r))
	receipt, err := s.opts.Intake.Take(r.Context(), pipeline.Arrival{
		Channel: a.channel, Sender: a.sender, Header: a.header, Test: isTest(r), Events: a.events,
	})
	if err != nil {
		return receipt, err
	}
	sayTaken(trace.SpanFromContext(r.Context()), a, receipt)
	if !s.opts.Logger.Enabled(r.Context(), slog.LevelDebug) {
		return receipt, nil
	}
	s.opts.Logger.DebugContext(r.Context(), "webhook taken in", "channel", a.channel, "sender", a.sender, "source", a.events[0].Source,
		"received", receipt.Received, "admitted", receipt.Admitted, "dropped", receipt.Dropped, "duplicate", receipt.Duplicate, "muted", receipt.Muted)
	return receipt, nil
}

// isTest tells whether a webhook asks for the test lane.
func isTest(r *http.Request) bool {
	test, err := strconv.ParseBool(r.URL.Query().Get("test"))
	return test && err == nil
}

// receive lets a sender in and decodes what it says.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, h *hold) (arrived, error) {
	channel, source := r.PathValue("channel"), r.PathValue("source")
	d, err := s.open(r, channel)
	if err != nil {
		return arrived{}, err
	}
	a := attempt{request: r, now: time.Now()}
	who, b, err := s.letIn(w, d, channel, source, &a, h)
	if err != nil {
		return arrived{}, err
	}
	defer b.release() // nothing of an event points into it
	if err := s.parse(r, b, h); err != nil {
		return arrived{}, err
	}
	all, header, err := s.decode(r, who, channel, source, b)
	if err != nil {
		return arrived{}, err
	}
	if all[0].Source == slackSource {
		named(all, who.name)
	}
	return arrived{channel: channel, sender: who.name, header: header, events: all}, nil
}

// letIn finds out who sends, and reads the body. What needs no body is tried first: whoever is not known is not read, but
// where a credential signs the body, and then within the share of those who are not known.
func (s *Server) letIn(w http.ResponseWriter, d door, channel, source string, a *attempt, h *hold) (credential, *body, error) {
	a.unread = true
	who, err := s.authenticate(d, channel, source, *a)
	known := err == nil
	if known {
		err = h.known(channel)
	} else if d.signed {
		err = nil
	}
	if err != nil {
		return credential{}, nil, err
	}
	b, err := s.readWire(w, a.request, h)
	if err != nil {
		return credential{}, nil, err
	}
	a.wire, a.unread = b.wire, false
	if !known {
		if who, err = s.authenticate(d, channel, source, *a); err == nil {
			err = h.known(channel)
		}
	}
	if err == nil {
		err = s.unpack(a.request, b, h)
	}
	if err != nil {
		b.release()
		return credential{}, nil, err
	}
	return who, b, nil
}

// named calls the category of events that have none after who sent them.
func named(all []events.Event, sender string) {
	for i := range all {
		if all[i].Category == events.Uncategorized {
			all[i].Category = events.NormalizeCategory(sender)
		}
	}
}

// allDropped tells whether nothing of a webhook got through, and in how many seconds the first of it could.
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
