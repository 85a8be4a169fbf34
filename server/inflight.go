package server

import (
	"net/netip"
	"sync"
)

// inFlight counts the webhooks that are served at a time, by the address of their sender. It keeps one sender with many slow
// connections from occupying the relay.
type inFlight struct {
	limit int

	mu        sync.Mutex
	byAddress map[netip.Addr]int
}

// acquire reports whether an address may have one more webhook served; if so, release must follow.
func (f *inFlight) acquire(address netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.byAddress[address]
	if n >= f.limit {
		return false
	}
	f.byAddress[address] = n + 1
	return true
}

func (f *inFlight) release(address netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.byAddress[address]; n > 1 {
		f.byAddress[address] = n - 1
	} else {
		delete(f.byAddress, address)
	}
}
