package replica

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// maxLastUse bounds the levels whose last known use is remembered.
const maxLastUse = 4096

// A channel relapses when its store comes back and refuses the next admission. The more often it does in a row, the less
// often the store is tried.
const (
	relapseWithin = time.Minute
	maxRelapses   = 4
)

// outage is a channel's state while its store is unavailable, and what it needs to know when that begins.
type outage struct {
	deciding sync.RWMutex // held for reading by local decisions, and for writing by the recovery
	away     atomic.Bool
	notSent  atomic.Bool // the last call certainly was not carried out
	relapses atomic.Int32
	failure  atomic.Pointer[error] // of the last call that failed: the cause of the outage

	mu      sync.Mutex
	since   time.Time
	ended   time.Time       // when the outage before ended
	divisor int64           // of the limits: the replicas when the outage began
	lastUse map[string]use  // by the key of the level
	seeded  map[string]bool // levels that the fallback has

	journal      []journalEntry
	journalBytes int64                      // until it is in the store
	results      map[int64]store.AgedResult // of journal entries, by number, where they were collected
}

// use is how full a level was when it was last seen.
type use struct {
	units int64
	at    time.Time
}

// down reports whether the store is unavailable.
func (o *outage) down() bool { return o.away.Load() }

// rLockIfDown reports whether the store is unavailable. If it is, it locks deciding for reading, so that the outage lasts
// until the lock is released.
func (o *outage) rLockIfDown() bool {
	if !o.down() {
		return false
	}
	o.deciding.RLock()
	if !o.down() { // the store came back during the wait
		o.deciding.RUnlock()
		return false
	}
	return true
}

// learnUse remembers how full the levels were. Levels that a decision did not look at stay as they were known: those of
// duplicates, for example.
func (o *outage) learnUse(requests []store.Request, decisions []store.Decision, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range decisions {
		for l := range requests[i].Levels {
			level := &requests[i].Levels[l]
			units, seen := mostUsed(decisions[i].Remaining, level.Name)
			if _, known := o.lastUse[level.Key]; seen && (known || len(o.lastUse) < maxLastUse) {
				if o.lastUse == nil {
					o.lastUse = map[string]use{}
				}
				o.lastUse[level.Key] = use{units: units, at: at}
			}
		}
	}
}

// mostUsed returns the units used in the fullest window of a level, and whether any of its windows was looked at.
func mostUsed(remaining []ratelimit.Remaining, level string) (units int64, seen bool) {
	for i := range remaining {
		if remaining[i].Level == level {
			units = max(units, remaining[i].Used)
			seen = true
		}
	}
	return units, seen
}

// learnFailure remembers why a call failed.
func (o *outage) learnFailure(err error) {
	if lua.FaultOf(err) != "" {
		o.failure.Store(&err)
	}
}

// cause is the error of the last call that failed; nil = none did yet.
func (o *outage) cause() error {
	if failure := o.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

// withCause adds the cause of the outage to an error.
func (o *outage) withCause(err error) error {
	if cause := o.cause(); cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// begin begins an outage: the limits are divided among so many replicas.
func (o *outage) begin(now time.Time, replicas int64) {
	o.mu.Lock()
	o.since = now
	o.divisor = replicas
	o.countRelapse()
	o.seeded = map[string]bool{}
	o.mu.Unlock()
	o.away.Store(true)
}

// countRelapse counts an outage that begins soon after another, where the store answers and refuses. The caller holds mu.
func (o *outage) countRelapse() {
	if lua.FaultOf(o.cause()).Refused() && !o.ended.IsZero() && o.since.Sub(o.ended) < relapseWithin {
		o.relapses.Store(min(o.relapses.Load()+1, maxRelapses))
		return
	}
	o.relapses.Store(0)
}

// end ends the outage once the journal is in the store. It returns when the outage began, the levels that the fallback has,
// and how many bytes of journal are free. The caller holds deciding for writing.
func (o *outage) end(now time.Time) (since time.Time, seeded []string, freed int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.seeded {
		seeded = append(seeded, key)
	}
	freed = o.journalBytes
	o.journalBytes = 0
	o.ended = now
	return o.since, seeded, freed
}

// probeEvery is how long to wait before the store is tried: twice as long with each relapse, 8 s at most by default.
func (o *outage) probeEvery(every time.Duration) time.Duration { return every << o.relapses.Load() }
