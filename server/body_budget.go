package server

import (
	"io"
	"net/netip"
	"sync"
)

// DefaultMaxInFlight is the default of Options.MaxInFlight, in bytes. It is raised to BodiesInFlight times MaxBody if that is
// more.
const DefaultMaxInFlight = 64 << 20

// BodiesInFlight is how many bodies of the largest size must fit into MaxInFlight, so that every share admits one.
const BodiesInFlight = 4

// Each share is this part of the bytes in flight: no address, no channel, and nobody without a credential gets all of them.
const (
	addressShare                = 4
	channelShare                = 2
	unauthenticatedShare        = 4
	unauthenticatedAddressShare = 16
)

// bodyBudget bounds the bytes of bodies in flight over all requests, as sent and decompressed. It counts what was really read,
// not what a sender announces.
type bodyBudget struct {
	limit   int64
	oneBody int64 // the least that every share admits: the largest body, as sent and decompressed

	mu   sync.Mutex
	used map[account]int64
}

// account is what bytes are counted by: the zero value for all requests; an address, or a channel, of authenticated requests;
// with unauthenticated set, all the others or those of an address.
type account struct {
	unauthenticated bool
	address         netip.Prefix
	channel         string
}

func newBodyBudget(limit, maxBody int64) *bodyBudget {
	oneBody := 2 * (maxBody + overRead)
	return &bodyBudget{limit: max(limit, BodiesInFlight*maxBody, oneBody), oneBody: oneBody, used: map[account]int64{}}
}

func (b *bodyBudget) share(a account) int64 {
	parts := int64(1)
	switch {
	case a.unauthenticated && a.address.IsValid():
		parts = unauthenticatedAddressShare
	case a.unauthenticated:
		parts = unauthenticatedShare
	case a.address.IsValid():
		parts = addressShare
	case a.channel != "":
		parts = channelShare
	}
	return max(b.limit/parts, min(b.oneBody, b.limit))
}

// move takes old bytes from the accounts of a reservation and puts new bytes on others. If one of these would exceed its share,
// it changes nothing and returns false.
func (b *bodyBudget) move(from []account, oldBytes int64, to []account, newBytes int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(from, -oldBytes)
	for _, a := range to {
		if newBytes > 0 && b.used[a]+newBytes > b.share(a) {
			b.add(from, oldBytes)
			return false
		}
	}
	b.add(to, newBytes)
	return true
}

func (b *bodyBudget) add(to []account, n int64) {
	for _, a := range to {
		if b.used[a] += n; b.used[a] == 0 {
			delete(b.used, a)
		}
	}
}

// siteBits is the part of an IPv6 address that identifies a sender: a site has all the addresses below it.
const siteBits = 64

// network returns what an address is counted by: itself, or for IPv6 its site. For an invalid address it is invalid.
func network(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = siteBits
	}
	prefix, _ := address.Prefix(bits) // fails only for an invalid address
	return prefix
}

// reservation is the part of the budget that one request occupies.
type reservation struct {
	budget   *bodyBudget
	network  netip.Prefix
	accounts []account
	bytes    int64
}

// reserve starts a reservation of 0 bytes for a request whose sender is not authenticated yet.
func (b *bodyBudget) reserve(address netip.Addr) reservation {
	from := network(address)
	return reservation{budget: b, network: from, accounts: []account{{}, {unauthenticated: true}, {unauthenticated: true, address: from}}}
}

// authenticated moves the reservation to the accounts of the channel that the sender has a credential of.
func (v *reservation) authenticated(channel string) error {
	to := []account{{}, {address: v.network}, {channel: channel}}
	if !v.budget.move(v.accounts, v.bytes, to, v.bytes) {
		return v.errFull()
	}
	v.accounts = to
	return nil
}

func (v *reservation) grow(n int64) error {
	if !v.budget.move(v.accounts, v.bytes, v.accounts, v.bytes+n) {
		return v.errFull()
	}
	v.bytes += n
	return nil
}

func (v *reservation) errFull() error {
	return errorf(unavailable, "too many bytes of webhooks are in flight: all %d (max_in_flight) or this sender's share of them are used; "+
		"send the request again", v.budget.limit)
}

// release returns all bytes to the budget. It may be called more than once.
func (v *reservation) release() {
	v.budget.move(v.accounts, v.bytes, nil, 0)
	v.bytes = 0
}

const (
	firstRead = 16 << 10
	overRead  = 512 // so that the end of a body of the announced length is seen
)

// read reads a body of at most limit bytes into a buffer, and reserves bytes as the buffer grows. announced is the length that
// the sender declared, -1 if none; it is used only if the body is shorter than the buffer would otherwise be.
func (v *reservation) read(buffer []byte, from io.Reader, announced, limit int64) ([]byte, error) {
	for room := int64(0); ; {
		if int64(len(buffer)) == room {
			step := min(max(firstRead, room), limit+overRead-room)
			if rest := announced + overRead - room; announced >= 0 && rest > 0 {
				step = min(step, rest)
			}
			if err := v.grow(step); err != nil {
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
			return buffer, err //nolint:wrapcheck // the caller names what was read
		}
	}
}
