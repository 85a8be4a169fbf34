package pipeline

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/store"
)

// RegistryOptions configure a [Registry]. Store is needed:
//
//	registry := pipeline.NewRegistry(pipeline.RegistryOptions{Store: shared, Logger: logger})
//	go registry.Run(ctx)
type RegistryOptions struct {
	Store store.Instances
	// Changed is called after instances appeared or vanished, with the names of those that vanished. It must not block.
	// Default: nothing is called.
	Changed func(vanished []string)
	// Poll is how often the changes of other replicas are read. Default 250 ms.
	Poll time.Duration
	// Timeout bounds one call of the store. Default 1 s.
	Timeout time.Duration
	Logger  *slog.Logger // default: nothing is logged
}

// touchEvery is how long a use of an instance counts: the store is told of another use only after that. Nobody forgets an
// instance that was used within this time; see [Template.ForgetAfter].
const touchEvery = 10 * time.Minute

// Registry knows the instances of all templates, which all replicas share through the store. It keeps them in memory, so that an
// event of a known instance needs no call. While the store is unavailable, it makes instances by itself, and registers them
// afterwards. It outlives reloads.
type Registry struct {
	opts RegistryOptions

	mu           sync.RWMutex
	known        map[string]*knownInstance // by name
	counts       map[string]int64          // by template
	added        map[string]bool           // by this process, since the last reading began
	unregistered map[string]store.Instance // used while the store was unavailable
	revision     int64                     // of the store
	available    bool                      // the store answered the last call
	readAt       time.Time                 // when it was read last
	loggedFull   map[string]time.Time      // when it was logged that a template is full

	changes atomic.Int64 // rises with each change

	// Run reported this number of changes, and these names, before.
	reported int64
	before   map[string]bool
}

// knownInstance is an instance that the store has, or will have.
type knownInstance struct {
	store.Instance
	touched atomic.Int64 // when this process told the store of a use, in nanoseconds since 1970; 0 = never
	used    atomic.Int64 // the last use by this process
}

// NewRegistry returns an empty Registry; Run reads the store.
func NewRegistry(opts RegistryOptions) *Registry {
	opts.Poll = cmp.Or(opts.Poll, 250*time.Millisecond)
	opts.Timeout = cmp.Or(opts.Timeout, time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Changed == nil {
		opts.Changed = func([]string) {}
	}
	return &Registry{
		opts: opts, known: map[string]*knownInstance{}, counts: map[string]int64{}, added: map[string]bool{},
		unregistered: map[string]store.Instance{}, loggedFull: map[string]time.Time{}, available: true,
	}
}

// Run reads the changes of other replicas until ctx ends. It may be called again when it has returned.
func (r *Registry) Run(ctx context.Context) {
	for {
		if err := r.Refresh(ctx); err != nil {
			r.opts.Logger.DebugContext(ctx, "channels of templates cannot be read", "error", err)
		}
		if changes := r.changes.Load(); changes != r.reported {
			r.reported = changes
			now := r.names()
			r.opts.Changed(missing(r.before, now))
			r.before = now
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.opts.Poll):
		}
	}
}

// missing returns the names of a set that another does not have, in order.
func missing(before, now map[string]bool) []string {
	gone := maps.Clone(before)
	maps.DeleteFunc(gone, func(name string, _ bool) bool { return now[name] })
	return slices.Sorted(maps.Keys(gone))
}

// Refresh registers what was made while the store was unavailable, and reads the store if it changed.
func (r *Registry) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	if err := r.register(ctx); err != nil {
		r.failed()
		return err
	}
	r.mu.Lock()
	clear(r.added)
	known := r.revision
	r.mu.Unlock()
	revision, all, err := r.opts.Store.ChangedInstances(ctx, known)
	if err != nil {
		r.failed()
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.available, r.readAt = true, time.Now()
	if revision != known {
		r.replace(all)
		r.revision = revision
	}
	return nil
}

// register tells the store of the instances that were used while it was unavailable. They have events, so that no bound applies.
func (r *Registry) register(ctx context.Context) error {
	r.mu.RLock()
	waiting := slices.Collect(maps.Values(r.unregistered))
	r.mu.RUnlock()
	for _, instance := range waiting {
		made, err := r.opts.Store.UseInstance(ctx, instance, 0)
		if err != nil {
			return err
		}
		r.mu.Lock()
		delete(r.unregistered, instance.Name)
		r.add(made, time.Now())
		r.mu.Unlock()
	}
	return nil
}

// failed notes that the store is unavailable. What was used since it was read last may be unknown to it when it comes back.
func (r *Registry) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.available {
		return
	}
	r.available = false
	since := r.readAt.Add(-r.opts.Timeout).UnixNano()
	for name, one := range r.known {
		if one.used.Load() > since {
			r.unregistered[name] = one.Instance
		}
	}
}

// replace replaces what is known by what the store has. The caller holds mu.
func (r *Registry) replace(all []store.Instance) {
	before := r.known
	r.known, r.counts = make(map[string]*knownInstance, len(all)), map[string]int64{}
	keep := func(one *knownInstance) {
		if r.known[one.Name] == nil {
			r.known[one.Name] = one
			r.counts[one.Template]++
		}
	}
	for _, instance := range all {
		if one := before[instance.Name]; one != nil && one.Instance == instance {
			keep(one)
		} else {
			keep(&knownInstance{Instance: instance})
		}
	}
	for name := range r.added {
		keep(before[name])
	}
	for name := range r.unregistered {
		keep(before[name])
	}
	r.changes.Add(1)
}

// add adds an instance that the store has, as of a time; the zero time = the store does not know of this use yet. The caller
// holds mu.
func (r *Registry) add(instance store.Instance, touched time.Time) *knownInstance {
	one := r.known[instance.Name]
	switch {
	case one == nil:
		r.counts[instance.Template]++
	case one.Instance != instance:
		r.counts[one.Template]--
		r.counts[instance.Template]++
		one = nil
	}
	if one == nil {
		one = &knownInstance{Instance: instance}
		r.known[instance.Name] = one
		r.changes.Add(1)
	}
	r.added[instance.Name] = true
	if !touched.IsZero() {
		one.touched.Store(touched.UnixNano())
	}
	return one
}

// get returns an instance by its name.
func (r *Registry) get(name string) (store.Instance, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	one := r.known[name]
	if one == nil {
		return store.Instance{}, false
	}
	return one.Instance, true
}

// names returns the names of all instances.
func (r *Registry) names() map[string]bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make(map[string]bool, len(r.known))
	for name := range r.known {
		all[name] = true
	}
	return all
}
