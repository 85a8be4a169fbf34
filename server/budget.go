package server

import (
	"context"
	"io"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// DefaultMaxInFlight is how many bytes of bodies may be in flight over all requests, where max_body is not too large for it.
const DefaultMaxInFlight = 64 << 20

// BodiesInFlight is how many of the largest bodies must fit into the bytes in flight, so that every share of them takes one.
const BodiesInFlight = 4

// Shares of the bytes in flight: no address, no channel, and nobody without a credential can take all of them.
const (
	addressShare         = 4
	channelShare         = 2
	strangersShare       = 4
	strangerAddressShare = 16
)

// budget bounds the bytes of bodies that are in flight over all requests, as they come and unpacked. It is counted by what
// was really read, not by what a sender announces.
type budget struct {
	limit   int64
	oneBody int64 // what every share admits: the largest body, as it comes and unpacked

	mu   sync.Mutex
	used map[account]int64
}

// account is what is counted together: all requests; those of an address, or of a channel whose credential they have; or,
// with strangers set, those without a credential, all or of an address.
type account struct {
	strangers bool
	address   netip.Prefix
	channel   string
}

func newBudget(limit, maxBody int64) *budget {
	if limit == 0 {
		limit = DefaultMaxInFlight
	}
	oneBody := 2 * (maxBody + overRead)
	return &budget{limit: max(limit, BodiesInFlight*maxBody, oneBody), oneBody: oneBody, used: map[account]int64{}}
}

func (b *budget) share(a account) int64 {
	parts := int64(1)
	switch {
	case a.strangers && a.address.IsValid():
		parts = strangerAddressShare
	case a.strangers:
		parts = strangersShare
	case a.address.IsValid():
		parts = addressShare
	case a.channel != "":
		parts = channelShare
	}
	return max(b.limit/parts, min(b.oneBody, b.limit))
}

// move takes bytes from the accounts of a hold, and puts as many, or more, on others; ok is false where one of them is full.
func (b *budget) move(from []account, had int64, to []account, has int64) (ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(from, -had)
	for _, a := range to {
		if has > 0 && b.used[a]+has > b.share(a) {
			b.add(from, had)
			return false
		}
	}
	b.add(to, has)
	return true
}

func (b *budget) add(to []account, n int64) {
	for _, a := range to {
		if b.used[a] += n; b.used[a] == 0 {
			delete(b.used, a)
		}
	}
}

// hold is what a request holds of the budget and of the gate.
type hold struct {
	budget   *budget
	gate     *gate
	address  netip.Prefix
	accounts []account
	bytes    int64
	leave    func() // the gate; nil = not in it
}

// wholeSite is how much of an IPv6 address names who comes: a site has all the addresses below.
const wholeSite = 64

func (s *Server) hold(address netip.Addr) *hold {
	bits := address.BitLen()
	if address.Is6() {
		bits = wholeSite
	}
	from, _ := address.Prefix(bits) // of an address that is none, it is none
	return &hold{
		budget: s.budget, gate: s.gate, address: from,
		accounts: []account{{}, {strangers: true}, {strangers: true, address: from}},
	}
}

// known counts a request by the channel whose credential it has, from now on.
func (h *hold) known(channel string) error {
	to := []account{{}, {address: h.address}, {channel: channel}}
	if !h.budget.move(h.accounts, h.bytes, to, h.bytes) {
		return h.full()
	}
	h.accounts = to
	return nil
}

func (h *hold) grow(n int64) error {
	if !h.budget.move(h.accounts, h.bytes, h.accounts, h.bytes+n) {
		return h.full()
	}
	h.bytes += n
	return nil
}

func (h *hold) full() error {
	return errorf(unavailable, "too many bytes of webhooks are in flight: all %d (max_in_flight) or this sender's share of them are used; send the request again", h.budget.limit)
}

// release gives back all that a request holds.
func (h *hold) release() {
	h.budget.move(h.accounts, h.bytes, nil, 0)
	h.bytes = 0
	if h.leave != nil {
		h.leave()
		h.leave = nil
	}
}

const (
	firstRead = 16 << 10
	overRead  = 512 // so that the end of a body of the expected length is seen
)

// read reads all of a body into a buffer, which grows by what came. expected is what its sender announced; it is believed
// only where that is less.
func (h *hold) read(buffer []byte, from io.Reader, expected, most int64) ([]byte, error) {
	for room := int64(0); ; {
		if int64(len(buffer)) == room {
			step := min(max(firstRead, room), most+overRead-room)
			if rest := expected + overRead - room; expected >= 0 && rest > 0 {
				step = min(step, rest)
			}
			if err := h.grow(step); err != nil {
				return buffer, err
			}
			if room += step; int64(cap(buffer)) < room {
				buffer = append(make([]byte, 0, room), buffer...)
			}
		}
		n, err := from.Read(buffer[len(buffer):room])
		buffer = buffer[:len(buffer)+n]
		if err == io.EOF {
			return buffer, nil
		}
		if err != nil {
			return buffer, err //nolint:wrapcheck // the caller says what was read
		}
	}
}

// gate bounds how much is decoded and decided at a time: what is decoded takes several times the body. The others wait
// their turn, and small bodies do not wait for large ones.
type gate struct{ small, large *semaphore.Weighted }

const (
	gateBytes   = 4 << 20
	smallWeight = 64 << 10
	gateTimeout = 5 * time.Second
	eventWeight = 512 // of an object in a body: what an event takes beside its text
)

func newGate() *gate {
	return &gate{small: semaphore.NewWeighted(gateBytes), large: semaphore.NewWeighted(gateBytes)}
}

// decode waits until a body may be decoded; release ends it.
func (h *hold) decode(ctx context.Context, weight int64) error {
	line, weight := h.gate.large, min(weight, gateBytes)
	if weight <= smallWeight {
		line = h.gate.small
	}
	if !line.TryAcquire(weight) {
		ctx, cancel := context.WithTimeout(ctx, gateTimeout)
		defer cancel()
		if line.Acquire(ctx, weight) != nil {
			return errorf(unavailable, "too many webhooks are being processed; send the request again")
		}
	}
	h.leave = func() { line.Release(weight) }
	return nil
}
