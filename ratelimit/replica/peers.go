package replica

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// peerWindows are the windows that this process and the other live replicas count in. While a change of a window is rolled
// out, a level has two configurations: what one replica admits by a shorter window, the longer one would have refused. So
// each replica checks the longer windows of the others too.
//
// The levels of one class, such as all senders of a channel, have the same windows. Replicas announce the windows of each
// class with their heartbeats: always a digest of them, and the text itself where the store or a replica does not have it.
type peerWindows struct {
	unannounced atomic.Bool   // there are windows, and no heartbeat announced them yet
	announcing  chan struct{} // holds a value while somebody sends the first heartbeat

	mu     sync.Mutex
	own    map[string][]ratelimit.Window // by class
	digest string                        // of own; "" = it was never set
	text   string                        // of own
	stored string                        // the digest whose text the store has from this process
	texts  map[string]string             // by digest, of this process and of the others
	live   []string                      // digests of the other replicas, sorted

	// longer are windows of other replicas that are longer than those of this process, by class; nil = there are none.
	longer atomic.Pointer[map[string][]ratelimit.Window]
}

func (p *peerWindows) init() {
	p.announcing = make(chan struct{}, 1)
	p.texts = map[string]string{}
}

// classOf is what the keys of all values of a level have in common: the key without the value.
func classOf(key string) string { return key[:strings.LastIndexByte(key, ':')+1] }

// countsInWindows reports whether a level's windows bound what may be admitted within a time.
func countsInWindows(l *ratelimit.Level) bool {
	return !l.Shadow && l.Strategy.EffectiveKind() != ratelimit.Backlog
}

// set replaces the levels of this process, and returns how many of their classes are too many to announce. The longer
// windows of the others bind the new levels at once; other replicas may go on counting in the windows that were replaced.
func (p *peerWindows) set(levels []ratelimit.Level) (leftOut int) {
	own := map[string][]ratelimit.Window{}
	for i := range levels {
		if countsInWindows(&levels[i]) {
			class := classOf(levels[i].Key)
			own[class] = unite(own[class], levels[i].Windows)
		}
	}
	text, leftOut := encodeWindows(own)
	sum := sha256.Sum256([]byte(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.digest == "" {
		p.unannounced.Store(true)
	}
	p.own = own
	p.text = text
	p.digest = hex.EncodeToString(sum[:16])
	p.texts[p.digest] = text
	p.compare()
	return leftOut
}

// heartbeat adds the windows to a heartbeat. Their text is sent once, and again where the store lost it.
func (p *peerWindows) heartbeat(beat store.Heartbeat) store.Heartbeat {
	p.mu.Lock()
	defer p.mu.Unlock()
	beat.Digest = p.digest
	if p.stored != p.digest {
		beat.Text = p.text
	}
	beat.Known = slices.Sorted(maps.Keys(p.texts))
	return beat
}

// receive learns from the reply to a heartbeat.
func (p *peerWindows) receive(sent store.Heartbeat, reply store.HeartbeatReply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if reply.TextMissing {
		p.stored = ""
		return
	}
	p.stored = sent.Digest
	live := slices.Sorted(maps.Keys(reply.Others))
	changed := !slices.Equal(live, p.live)
	for digest, text := range reply.Others {
		if text != "" {
			p.texts[digest] = text
			changed = true
		}
	}
	maps.DeleteFunc(p.texts, func(digest, _ string) bool {
		return digest != p.digest && !slices.Contains(live, digest)
	})
	if changed {
		p.live = live
		p.compare()
	}
	if sent.Digest == p.digest {
		p.unannounced.Store(false)
	}
}

// compare finds the windows of the others that are longer than those of this process. The caller holds mu.
func (p *peerWindows) compare() {
	longer := map[string][]ratelimit.Window{}
	for _, digest := range p.live {
		if digest == p.digest {
			continue
		}
		theirs := decodeWindows(p.texts[digest])
		for class, own := range p.own {
			if windows := longerThan(theirs[hashOf(class)], ratelimit.Longest(own)); len(windows) > 0 {
				longer[class] = unite(longer[class], windows)
			}
		}
	}
	if len(longer) == 0 {
		p.longer.Store(nil)
		return
	}
	p.longer.Store(&longer)
}

// widen adds the longer windows of other replicas to the levels of requests. The requests of the caller stay as they are.
func (p *peerWindows) widen(requests []store.Request) []store.Request {
	longer := p.longer.Load()
	if longer == nil {
		return requests
	}
	widened := slices.Clone(requests)
	for i := range widened {
		r := &widened[i]
		if i > 0 && sameLevels(r, &requests[i-1]) { //nolint:gosec // i is above 0
			r.Levels = widened[i-1].Levels // one and the same list, by which samePath knows the path
			continue
		}
		r.Levels = widenLevels(*longer, r.Levels)
	}
	return widened
}

func widenLevels(longer map[string][]ratelimit.Window, levels []ratelimit.Level) []ratelimit.Level {
	levels = slices.Clone(levels)
	for i := range levels {
		if l := &levels[i]; countsInWindows(l) {
			more := longerThan(longer[classOf(l.Key)], ratelimit.Longest(l.Windows))
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

// unite returns all windows, the shortest first. Of two of one length, the smaller limit counts.
func unite(windows, more []ratelimit.Window) []ratelimit.Window {
	all := slices.Concat(windows, more)
	slices.SortFunc(all, func(a, b ratelimit.Window) int {
		return cmp.Or(cmp.Compare(a.Per, b.Per), cmp.Compare(a.Limit, b.Limit))
	})
	return slices.CompactFunc(all, func(a, b ratelimit.Window) bool { return a.Per == b.Per })
}
