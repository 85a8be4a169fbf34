package server

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// DefaultWrongCredentialDelay is how long the answer to a wrong credential is held back.
const DefaultWrongCredentialDelay = time.Second

// Bounds of what is held back. The first wrong credentials of an address are answered at once, so that a mistake costs nobody
// time; an address has another one free each second.
const (
	freeGuesses      = 20
	mostWrong        = 2 * freeGuesses // that are remembered of an address
	heldPerAddress   = 256
	heldInAll        = 2048
	guessersKept     = 4096
	sweepGuessers    = time.Second
	guessesFreeAfter = time.Second
)

// guesses holds back the answers to wrong credentials, for addresses that present many. A right credential is never held
// back, also from such an address: others may stand behind the same proxy.
type guesses struct {
	mu    sync.Mutex
	held  int
	by    map[netip.Prefix]*guesser
	swept time.Time
}

// guesser is an address that presented wrong credentials.
type guesser struct {
	wrong float64 // one less each second
	at    time.Time
	held  int
}

// answer returns when a wrong credential of an address may be answered. ok is false where too many answers are held back
// already: then the connection should end with the answer, so that the next guess costs another one.
func (g *guesses) answer(ctx context.Context, address netip.Addr, delay time.Duration) (ok bool) {
	if delay == 0 {
		return true
	}
	who, hold, ok := g.count(address, time.Now())
	if !hold {
		return ok
	}
	defer g.release(who)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// count counts a wrong credential, and tells whether its answer is held back.
func (g *guesses) count(address netip.Addr, now time.Time) (who *guesser, hold, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	who = g.find(address, now)
	who.wrong = max(0, who.wrong-now.Sub(who.at).Seconds()/guessesFreeAfter.Seconds()) + 1
	who.at = now
	who.wrong = min(who.wrong, mostWrong)
	switch {
	case who.wrong <= freeGuesses:
		return who, false, true
	case who.held >= heldPerAddress || g.held >= heldInAll:
		return who, false, false
	}
	who.held++
	g.held++
	return who, true, true
}

func (g *guesses) release(who *guesser) {
	g.mu.Lock()
	defer g.mu.Unlock()
	who.held--
	g.held--
}

// find finds what is known of an address, and of its whole network where it is IPv6: everybody has 2^64 of those. Where too
// many are known, the others are one.
func (g *guesses) find(address netip.Addr, now time.Time) *guesser {
	const network = 64
	key := netip.PrefixFrom(address, address.BitLen())
	if address.Is6() {
		key, _ = address.Prefix(network) // 64 is within an IPv6 address
	}
	if len(g.by) >= guessersKept && g.by[key] == nil {
		g.sweep(now)
	}
	if len(g.by) >= guessersKept && g.by[key] == nil {
		key = netip.Prefix{}
	}
	if g.by[key] == nil {
		g.by[key] = &guesser{at: now}
	}
	return g.by[key]
}

// sweep forgets whoever presented nothing wrong for a while.
func (g *guesses) sweep(now time.Time) {
	if now.Sub(g.swept) < sweepGuessers {
		return
	}
	g.swept = now
	for key, who := range g.by {
		if who.held == 0 && now.Sub(who.at).Seconds() >= who.wrong*guessesFreeAfter.Seconds() {
			delete(g.by, key)
		}
	}
}
