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

	mu              sync.Mutex
	all             account
	unauthenticated account
	networks        map[netip.Prefix]*networkAccounts // with a request in flight
	channels        map[string]*account               // of configured channels only, so that they need not be removed
}

// account counts bytes, up to its share of the budget.
type account struct{ used, share int64 }

// networkAccounts count the bytes of one address.
type networkAccounts struct {
	requests                       int // in flight
	authenticated, unauthenticated account
}

func newBodyBudget(limit, maxBody int64) *bodyBudget {
	oneBody := 2 * (maxBody + overRead)
	b := &bodyBudget{
		limit: max(limit, BodiesInFlight*maxBody, oneBody), oneBody: oneBody,
		networks: map[netip.Prefix]*networkAccounts{}, channels: map[string]*account{},
	}
	b.all = b.newAccount(1)
	b.unauthenticated = b.newAccount(unauthenticatedShare)
	return b
}

// newAccount returns an account for one of so many parts of the budget.
func (b *bodyBudget) newAccount(parts int64) account {
	return account{share: max(b.limit/parts, min(b.oneBody, b.limit))}
}

// network returns the accounts of a network. The caller holds mu.
func (b *bodyBudget) network(of netip.Prefix) *networkAccounts {
	n := b.networks[of]
	if n == nil {
		n = &networkAccounts{
			authenticated: b.newAccount(addressShare), unauthenticated: b.newAccount(unauthenticatedAddressShare),
		}
		b.networks[of] = n
	}
	return n
}

// channel returns the account of a channel. The caller holds mu.
func (b *bodyBudget) channel(name string) *account {
	c := b.channels[name]
	if c == nil {
		made := b.newAccount(channelShare)
		c = &made
		b.channels[name] = c
	}
	return c
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
	budget   *bodyBudget // nil = it was released
	network  netip.Prefix
	sender   *networkAccounts
	accounts [3]*account
	bytes    int64
}

// reserve starts a reservation of 0 bytes for a request whose sender is not authenticated yet.
func (b *bodyBudget) reserve(address netip.Addr) reservation {
	from := network(address)
	b.mu.Lock()
	defer b.mu.Unlock()
	sender := b.network(from)
	sender.requests++
	return reservation{
		budget: b, network: from, sender: sender, accounts: [...]*account{&b.all, &b.unauthenticated, &sender.unauthenticated},
	}
}

// authenticated moves the reservation to the accounts of the channel that the sender has a credential of.
func (v *reservation) authenticated(channel string) error {
	v.budget.mu.Lock()
	defer v.budget.mu.Unlock()
	return v.move([...]*account{&v.budget.all, &v.sender.authenticated, v.budget.channel(channel)}, v.bytes)
}

func (v *reservation) grow(n int64) error {
	v.budget.mu.Lock()
	defer v.budget.mu.Unlock()
	return v.move(v.accounts, v.bytes+n)
}

// move takes the reservation from its accounts and puts so many bytes on others. If one of these would exceed its share, it
// changes nothing and fails. The caller holds the budget's mu.
func (v *reservation) move(to [3]*account, bytes int64) error {
	for _, a := range v.accounts {
		a.used -= v.bytes
	}
	for _, a := range to {
		if bytes > 0 && a.used+bytes > a.share {
			for _, a := range v.accounts {
				a.used += v.bytes
			}
			return v.errFull()
		}
	}
	for _, a := range to {
		a.used += bytes
	}
	v.accounts = to
	v.bytes = bytes
	return nil
}

func (v *reservation) errFull() error {
	return errorf(unavailable, "too many bytes of webhooks are in flight: all %d (max_in_flight) or this sender's share of them are used; "+
		"send the request again", v.budget.limit)
}

// release returns all bytes to the budget. It may be called more than once.
func (v *reservation) release() {
	if v.budget == nil {
		return
	}
	v.budget.mu.Lock()
	defer v.budget.mu.Unlock()
	for _, a := range v.accounts {
		a.used -= v.bytes
	}
	if v.sender.requests--; v.sender.requests == 0 {
		delete(v.budget.networks, v.network)
	}
	*v = reservation{}
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
