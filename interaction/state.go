package interaction

import (
	"cmp"
	"context"
	"slices"
	"time"

	"slackrelay/slackapp"
)

// holding is what the other replicas may know of this one's socket.
func (s *socket) holding() holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return holding{Open: s.open, Fault: s.fault}
}

// setOpen notes that the socket was opened, or ended.
func (s *socket) setOpen(ctx context.Context, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == open {
		return
	}
	s.open = open
	app, _ := s.app()
	if open {
		s.fault = ""
		s.receiver.opts.Metrics.sockets.Inc()
		s.receiver.opts.Logger.InfoContext(ctx, "socket to slack opened", "app", app.Name)
		return
	}
	s.seen = time.Now()
	s.receiver.opts.Metrics.sockets.Dec()
	s.receiver.opts.Logger.InfoContext(ctx, "socket to slack ended", "app", app.Name)
}

// setFault notes why no socket was opened, and logs it once; nil = one was. refused means that Slack will not open one for the
// token as it is.
func (s *socket) setFault(ctx context.Context, err error) (refused bool) {
	fault := ""
	if err != nil {
		fault, refused = slackapp.DescribeSocket(withoutURL(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault != "" && fault != s.fault {
		app, _ := s.app()
		s.receiver.opts.Logger.WarnContext(ctx, "no socket to slack", "app", app.Name, "why", fault)
	}
	s.fault = fault
	return refused
}

// note notes what the other replicas have. known is false if that could not be read.
func (s *socket) note(others []holding, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open || slices.ContainsFunc(others, func(h holding) bool { return h.Open }) {
		s.seen, s.nobody = time.Now(), ""
		return
	}
	if known {
		s.nobody = ""
		for _, h := range others {
			s.nobody = cmp.Or(s.nobody, h.Fault)
		}
	}
}

// Reasons returns for each app why no replica has received its clicks by socket for a minute; none = all do. It names no secret.
func (r *Receiver) Reasons() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reasons []string
	for _, s := range r.sockets {
		app, ok := s.app()
		s.mu.Lock()
		if ok && !s.open && time.Since(s.seen) >= missedAfter {
			why := cmp.Or(s.fault, s.nobody, "none could be opened")
			reasons = append(reasons, "no replica has a socket to Slack for the app of "+app.Name+": "+why)
		}
		s.mu.Unlock()
	}
	slices.Sort(reasons)
	return reasons
}
