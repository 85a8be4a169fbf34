package fakeslack

import (
	"net/http"
	"time"
)

// Reply is a scripted answer.
type Reply struct {
	Status     int           // default 200
	Body       string        // the body; for a Status of 200 and no Body, the message is taken as usual
	RetryAfter string        // the header; "" = none
	Delay      time.Duration // before answering; ends early when the client goes away
	Posted     bool          // the message appears all the same
	Late       time.Duration // so long after; for Posted
	Cut        bool          // the connection is cut instead of an answer
}

// APIError is how the Web API refuses: an error code in a body with status 200.
func APIError(code string) Reply {
	return Reply{Body: `{"ok":false,"error":"` + code + `"}`}
}

// Script makes the next posts to a channel answer these replies, in order; then all is well again. Other methods
// have scripts of their own: channel is "chat.update C0123" then.
func (s *Server) Script(channel string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[channel] = append(s.scripts[channel], replies...)
}

// scripted answers the next scripted reply of the channel, if there is one, and tells whether the request
// is done with.
func (s *Server) scripted(w http.ResponseWriter, r *http.Request, post *Post, method string) bool {
	reply, ok := s.next(method, post.Channel)
	if !ok {
		return false
	}
	switch posted := *post; {
	case reply.Posted && reply.Late > 0:
		s.late.Go(func() {
			<-time.After(reply.Late)
			s.record(&posted, method != "webhook")
		})
	case reply.Posted:
		s.record(post, method != "webhook")
	}
	if reply.Delay > 0 {
		timer := time.NewTimer(reply.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	switch {
	case reply.Cut:
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer
	case reply.Status == 0 && reply.Body == "" && !reply.Posted:
		return false
	}
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	writeText(w, max(reply.Status, http.StatusOK), reply.Body)
	return true
}

// Fault decides of a request what goes wrong, before any script is looked at. The method is that of the Web API, or
// "webhook".
type Fault func(method, channel string) (Reply, bool)

// Break makes every request be decided by fault.
func (s *Server) Break(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *Server) next(method, channel string) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	posting := method == "chat.postMessage" || method == "webhook"
	if posting {
		s.requests++
	}
	if s.fault != nil {
		if reply, ok := s.fault(method, channel); ok {
			return reply, true
		}
	}
	name := channel
	if !posting {
		name = method + " " + channel
	}
	script := s.scripts[name]
	if len(script) == 0 {
		return Reply{}, false
	}
	s.scripts[name] = script[1:]
	return script[0], true
}
