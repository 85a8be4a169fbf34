package replica

import (
	"cmp"
	"log/slog"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Options configure a [Limiter]. Replica and Fallback must be set; the zero value of every other field is its default:
//
//	limiter := replica.New(shared, replica.Options{
//		Replica:  "relay-1",
//		Replicas: 2,
//		Policies: map[string]replica.Policy{"alerts": replica.PolicyLocal},
//		Fallback: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{DecidedBy: store.ByFallback}),
//	})
type Options struct {
	// Replica names this process among those that share the store. It must be unique to each start of the process, because
	// the store remembers the last batch of counts of each name.
	Replica string
	// Policies are what each channel does while the store is unavailable, by the name of the channel. A channel that is not
	// listed follows [PolicyClosed]. [Limiter.SetPolicies] replaces them.
	Policies map[string]Policy
	// PolicyOf returns the policy of a channel that is not listed in Policies, "" = it is not known. Default: it is not.
	PolicyOf func(channel string) Policy
	// Replicas is how many processes are expected. The limits are divided by this or by the number of live replicas,
	// whichever is larger. Default 0: the number is not known, and until the store was reached once [PolicyLocal] acts as
	// [PolicyClosed].
	Replicas int
	// Fallback decides within this process while the store is unavailable.
	Fallback Fallback
	// FallbackOutbox is where the messages that Fallback admitted wait to be sent. Default nil: when the store comes back,
	// all of them count as delivered.
	FallbackOutbox FallbackOutbox
	// Dedupe is how long an admitted id is a duplicate without asking the store; give it the store's own time. Default 1 h.
	Dedupe time.Duration
	// CallTimeout bounds one call of the store. Default 1 s.
	CallTimeout time.Duration
	// MaxWait is how long a caller of [Limiter.Admit] waits for the store: for a call that is under way, and for the call that
	// its requests share. Default 0: as long as its context allows.
	MaxWait time.Duration
	// MaxStale is how long a level is taken to be closed without asking the store again. It bounds how late a refund, a
	// reset, a raised limit or a failover takes effect. Default 1 s; negative: every request asks the store.
	MaxStale time.Duration
	// MergeEvery is how long counts that were made here wait before they are sent to the store. Default 250 ms.
	MergeEvery time.Duration
	// ProbeEvery is how often an unavailable store is tried, less up to half as jitter. Default 500 ms.
	ProbeEvery time.Duration
	// Heartbeat is how often this process announces itself to the other replicas. They count it as alive for three times
	// as long. Default 3 s.
	Heartbeat time.Duration
	// Recheck is called when another replica ended, and when the store came back without its data: channels may have work
	// that no list of due channels names. It must not block. Default: nothing is called.
	Recheck func()
	// Now is a monotonic clock. It never takes part in a decision of the store. Default [time.Now].
	Now func() time.Time
	// Logger receives what operators must know: outages, recoveries, lost data. Default: nothing is logged.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Dedupe = cmp.Or(o.Dedupe, ratelimit.DefaultDedupe)
	o.CallTimeout = cmp.Or(o.CallTimeout, time.Second)
	o.MaxStale = cmp.Or(o.MaxStale, time.Second)
	o.MergeEvery = cmp.Or(o.MergeEvery, 250*time.Millisecond)
	o.ProbeEvery = cmp.Or(o.ProbeEvery, 500*time.Millisecond)
	o.Heartbeat = cmp.Or(o.Heartbeat, 3*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PolicyOf == nil {
		o.PolicyOf = func(string) Policy { return "" }
	}
	if o.Recheck == nil {
		o.Recheck = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// heartbeat is what every heartbeat of this process has in common.
func (o *Options) heartbeat() store.Heartbeat {
	return store.Heartbeat{Replica: o.Replica, TTL: 3 * o.Heartbeat}
}
