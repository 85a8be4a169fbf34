package server

import (
	"net/http"
	"net/netip"
	"sync"
)

// crowd counts the webhooks that are in hand, by the address that they come from, so that one sender with many slow
// connections does not keep others out.
type crowd struct {
	limit int

	mu     sync.Mutex
	inHand map[netip.Addr]int
}

// enter takes a place; ok is false where the address has as many as it may.
func (c *crowd) enter(address netip.Addr) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inHand[address] >= c.limit {
		return nil, false
	}
	c.inHand[address]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.inHand[address]--; c.inHand[address] == 0 {
			delete(c.inHand, address)
		}
	}, true
}

// enter takes a place for a request, from the address that it comes from.
func (s *Server) enter(r *http.Request) (leave func(), err error) {
	leave, ok := s.crowd.enter(s.proxies.client(r))
	if !ok {
		return nil, errorf(unavailable, "more than %d webhooks from this address are in hand; send it again", s.crowd.limit)
	}
	return leave, nil
}

// enterByPost takes a place for a webhook.
func (s *Server) enterByPost(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, errorf(methodNotAllowed, "webhooks are taken by POST, not by %s", r.Method)
	}
	return s.enter(r)
}
