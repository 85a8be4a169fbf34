package server

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// DefaultWrongCredentialDelay is the value of Options.WrongCredentialDelay that a relay uses.
const DefaultWrongCredentialDelay = time.Second

// Bounds of the delayed replies. The replies to the first wrong credentials of an address are not delayed, so that a mistake costs
// nobody time; one more is free each second.
const (
	freeAttempts      = 20
	maxAttempts       = 2 * freeAttempts // that are counted for an address
	delayedPerAddress = 256
	delayedTotal      = 2048
	maxNetworks       = 4096
	sweepEvery        = time.Second
	forgiveEvery      = time.Second
)

// authDelay delays the replies to wrong credentials, for addresses that present many. The reply to a valid credential is never
// delayed, even from such an address: other senders may be behind the same proxy.
type authDelay struct {
	mu        sync.Mutex
	delayed   int
	byNetwork map[netip.Prefix]*attempts
	swept     time.Time
}

// attempts are the wrong credentials that a network presented.
type attempts struct {
	wrong   float64 // decreases by one each second
	at      time.Time
	delayed int
}

// wait returns when the reply to a wrong credential of an address may be sent. It returns false at once if too many replies are
// delayed already: then the connection should be closed with the reply, so that the next attempt costs a new one.
func (d *authDelay) wait(ctx context.Context, address netip.Addr, delay time.Duration) (ok bool) {
	if delay == 0 {
		return true
	}
	from, delays, ok := d.count(address, time.Now())
	if !delays {
		return ok
	}
	defer d.release(from)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// count counts a wrong credential. It returns whether its reply is delayed, and ok = false if it should be but too many are.
func (d *authDelay) count(address netip.Addr, now time.Time) (from *attempts, delays, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from = d.find(address, now)
	from.wrong = max(0, from.wrong-now.Sub(from.at).Seconds()/forgiveEvery.Seconds()) + 1
	from.at = now
	from.wrong = min(from.wrong, maxAttempts)
	switch {
	case from.wrong <= freeAttempts:
		return from, false, true
	case from.delayed >= delayedPerAddress || d.delayed >= delayedTotal:
		return from, false, false
	}
	from.delayed++
	d.delayed++
	return from, true, true
}

func (d *authDelay) release(from *attempts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from.delayed--
	d.delayed--
}

// find returns the attempts of an address, for IPv6 of its site. Beyond maxNetworks, the others are counted as one.
func (d *authDelay) find(address netip.Addr, now time.Time) *attempts {
	key := network(address)
	if len(d.byNetwork) >= maxNetworks && d.byNetwork[key] == nil {
		d.sweep(now)
	}
	if len(d.byNetwork) >= maxNetworks && d.byNetwork[key] == nil {
		key = netip.Prefix{}
	}
	if d.byNetwork[key] == nil {
		d.byNetwork[key] = &attempts{at: now}
	}
	return d.byNetwork[key]
}

// sweep forgets networks whose wrong credentials are all forgiven.
func (d *authDelay) sweep(now time.Time) {
	if now.Sub(d.swept) < sweepEvery {
		return
	}
	d.swept = now
	for key, from := range d.byNetwork {
		if from.delayed == 0 && now.Sub(from.at).Seconds() >= from.wrong*forgiveEvery.Seconds() {
			delete(d.byNetwork, key)
		}
	}
}
