package fakeslack

import (
	"net/http"
	"time"
)

// Reply is a scripted answer.
type Reply struct {
	Status     int           // default 200
	Body       string        // with neither Status nor Body, the request is handled as usual
	RetryAfter string        // the header; "" = none
	Delay      time.Duration // before the answer; ends early when the client disconnects
	Posted     bool          // the message is posted despite the answer
	Late       time.Duration // how long after the request it is posted; only with Posted
	Cut        bool          // cut the connection instead of answering
}

// APIError returns an error of the Web API: a code in a body with status 200.
func APIError(code string) Reply {
	return Reply{Body: `{"ok":false,"error":"` + code + `"}`}
}

// Script sets the answers to the next posts to a channel, in order; later requests are handled as usual. Other methods have
// scripts of their own, for example with "chat.update C0123" for channel.
func (s *Server) Script(channel string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[channel] = append(s.scripts[channel], replies...)
}

// scripted answers with the next scripted reply of the channel, if there is one, and reports whether the request has been
// answered.
func (s *Server) scripted(w http.ResponseWriter, r *http.Request, post *Post, method string) bool {
	reply, ok := s.next(method, post.Channel)
	if !ok {
		return false
	}
	switch posted := *post; {
	case reply.Posted && reply.Late > 0:
		s.late.Go(func() {
			<-time.After(reply.Late)
			s.post(&posted, method != "webhook")
		})
	case reply.Posted:
		s.post(post, method != "webhook")
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

// Fault decides whether and how a request fails, before any script. The method is that of the Web API, or "webhook".
type Fault func(method, channel string) (Reply, bool)

// Break sets the fault that decides about every request; nil = none.
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
