package replica

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// peers is what this process and the other live replicas tell each other of the windows they count in. While a change
// of a window is rolled out, a level has two configurations: what one admits by a shorter window, the longer one would
// have refused. So each asks for the longer windows of the others too.
type peers struct {
	meeting chan struct{} // held by whoever waits for the first beat
	unmet   atomic.Bool   // there are levels, and no beat told of them yet

	mu     sync.Mutex
	own    map[string][]ratelimit.Window // by the class of the level
	digest string                        // of own; "" = it was never set
	text   string
	stored string            // the digest whose text the engine has
	texts  map[string]string // by digest, of this process and of the others
	live   []string          // digests of the others, sorted

	wider atomic.Pointer[map[string][]ratelimit.Window] // what the others have and this process does not, by class; nil = nothing
}

func (p *peers) init() { p.meeting, p.texts = make(chan struct{}, 1), map[string]string{} }

// classOf is what all values of an inner level have in common: the key without the value.
func classOf(key string) string { return key[:strings.LastIndexByte(key, ':')+1] }

// windowed tells whether a level's windows say what may be admitted within a time.
func windowed(l *ratelimit.Level) bool {
	return !l.Shadow && l.Strategy.EffectiveKind() != ratelimit.Backlog
}

// set replaces the levels of this process, and tells how many are too many to be told of. What the others count in holds
// for the new ones at once; and what this process counted in until now, the others may still do.
func (p *peers) set(levels []ratelimit.Level) (left int) {
	own := map[string][]ratelimit.Window{}
	for i := range levels {
		if class := classOf(levels[i].Key); windowed(&levels[i]) {
			own[class] = unite(own[class], levels[i].Windows)
		}
	}
	text, left := encodeWindows(own)
	sum := sha256.Sum256([]byte(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.digest == "" {
		p.unmet.Store(true)
	}
	p.own, p.text, p.digest = own, text, hex.EncodeToString(sum[:16])
	p.texts[p.digest] = text
	p.compare()
	return left
}

// beat says that this process lives and what it counts in, and learns what the others do.
func (p *peers) beat(ctx context.Context, e store.Engine, b store.Heartbeat) (store.HeartbeatReply, error) {
	for {
		said := p.say(b)
		heard, err := e.Heartbeat(ctx, said)
		if err != nil {
			return store.HeartbeatReply{}, err
		}
		p.hear(said, heard)
		if !heard.TextMissing {
			return heard, nil
		}
	}
}

// say completes a beat. The text is told once, and again where it is gone.
func (p *peers) say(b store.Heartbeat) store.Heartbeat {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.Digest = p.digest
	if p.stored != p.digest {
		b.Text = p.text
	}
	b.Known = slices.Sorted(maps.Keys(p.texts))
	return b
}

// hear learns from the answer to a beat.
func (p *peers) hear(said store.Heartbeat, heard store.HeartbeatReply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if heard.TextMissing {
		p.stored = ""
		return
	}
	p.stored = said.Digest
	live := slices.Sorted(maps.Keys(heard.Others))
	changed := !slices.Equal(live, p.live)
	for digest, text := range heard.Others {
		if text != "" {
			p.texts[digest], changed = text, true
		}
	}
	maps.DeleteFunc(p.texts, func(digest, _ string) bool {
		return digest != p.digest && !slices.Contains(live, digest)
	})
	if changed {
		p.live = live
		p.compare()
	}
	if said.Digest == p.digest {
		p.unmet.Store(false)
	}
}

// compare finds what the others have that is longer than what this process has. The caller holds mu.
func (p *peers) compare() {
	wider := map[string][]ratelimit.Window{}
	for _, digest := range p.live {
		if digest == p.digest {
			continue
		}
		theirs := decodeWindows(p.texts[digest])
		for class, own := range p.own {
			if longer := longerThan(theirs[hashOf(class)], ratelimit.Longest(own)); len(longer) > 0 {
				wider[class] = unite(wider[class], longer)
			}
		}
	}
	if len(wider) == 0 {
		p.wider.Store(nil)
		return
	}
	p.wider.Store(&wider)
}

// widen adds to the levels of requests the longer windows that other replicas have. The requests are the caller's, and stay
// as they are.
func (p *peers) widen(requests []store.Request) []store.Request {
	wider := p.wider.Load()
	if wider == nil {
		return requests
	}
	widened := slices.Clone(requests)
	for i := range widened {
		r := &widened[i]
		if i > 0 && sameLevels(r, &requests[i-1]) { //nolint:gosec // i is above 0
			r.Levels = widened[i-1].Levels // which is how the closed-until cache knows the same way
			continue
		}
		r.Levels = widenLevels(*wider, r.Levels)
	}
	return widened
}

func widenLevels(wider map[string][]ratelimit.Window, levels []ratelimit.Level) []ratelimit.Level {
	levels = slices.Clone(levels)
	for i := range levels {
		if l := &levels[i]; windowed(l) {
			more := longerThan(wider[classOf(l.Key)], ratelimit.Longest(l.Windows))
			l.Windows = append(slices.Clip(l.Windows), more...)
		}
	}
	return levels
}

func longerThan(windows []ratelimit.Window, per time.Duration) (longer []ratelimit.Window) {
	for _, w := range windows {
		if w.Per > per {
			longer = append(longer, w)
		}
	}
	return longer
}

// unite adds windows to others, the shortest first; of two of one length, the smaller limit counts.
func unite(windows, more []ratelimit.Window) []ratelimit.Window {
	all := slices.Concat(windows, more)
	slices.SortFunc(all, func(a, b ratelimit.Window) int {
		return cmp.Or(cmp.Compare(a.Per, b.Per), cmp.Compare(a.Limit, b.Limit))
	})
	return slices.CompactFunc(all, func(a, b ratelimit.Window) bool { return a.Per == b.Per })
}

// meet makes sure, before this process admits anything, that the others know what it counts in, and it what they do.
func (s *Limiter) meet(ctx context.Context) error {
	if !s.peers.unmet.Load() {
		return nil
	}
	select {
	case s.peers.meeting <- struct{}{}:
		defer func() { <-s.peers.meeting }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w: wait for the first heartbeat: %w", store.ErrUnavailable, store.ErrNotSent, ctx.Err())
	}
	if !s.peers.unmet.Load() {
		return nil
	}
	return s.beat(ctx)
}
