package pipeline

import (
	"context"
	"time"

	"slackrelay/store"
)

// use notes that an event belongs to an instance, of which there may be so many, and makes the instance if it is new. It
// returns why the event cannot have it: "", FullTemplate or TakenName. It calls the store for the first use of an instance by this
// process, and then every ten minutes.
func (r *Registry) use(ctx context.Context, instance store.Instance, most int64) (why string) {
	now := time.Now()
	why, decided := r.useKnown(instance, most, now)
	if decided {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.Timeout)
	defer cancel()
	made, err := r.opts.Store.UseInstance(ctx, instance, most)
	if err != nil {
		r.opts.Logger.DebugContext(ctx, "use of a channel is registered later", "channel", instance.Name, "error", err)
		r.failed()
		why, _ = r.useKnown(instance, most, now)
		return why
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if made == (store.Instance{}) {
		return FullTemplate
	}
	one := r.add(made, now)
	if made != instance {
		return TakenName
	}
	one.used.Store(now.UnixNano())
	return ""
}

// useKnown decides without a call of the store; decided is false if it must be asked.
func (r *Registry) useKnown(instance store.Instance, most int64, now time.Time) (why string, decided bool) {
	r.mu.RLock()
	one, available := r.known[instance.Name], r.available
	if one == nil && r.counts[instance.Template] >= most {
		r.mu.RUnlock()
		return FullTemplate, true
	}
	r.mu.RUnlock()
	switch {
	case one != nil && one.Instance != instance:
		return TakenName, true
	case !available:
		return r.useUnregistered(instance, most, now), true
	case one == nil || now.UnixNano()-one.touched.Load() > int64(touchEvery):
		return "", false
	}
	one.used.Store(now.UnixNano())
	return "", true
}

// useUnregistered notes a use while the store is unavailable.
func (r *Registry) useUnregistered(instance store.Instance, most int64, now time.Time) (why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch one := r.known[instance.Name]; {
	case one != nil && one.Instance != instance:
		return TakenName
	case one == nil && r.counts[instance.Template] >= most:
		return FullTemplate
	}
	r.unregistered[instance.Name] = instance
	r.add(instance, time.Time{}).used.Store(now.UnixNano())
	return ""
}

// logFullEvery is the time between two log lines about the same template.
const logFullEvery = time.Hour

// logFull logs that a template has as many channels as it may.
func (r *Registry) logFull(ctx context.Context, t *Template) {
	name, now := t.Pattern.String(), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, logged := r.loggedFull[name]; logged && now.Sub(last) < logFullEvery {
		return
	}
	r.loggedFull[name] = now
	r.opts.Logger.WarnContext(ctx, "channel template full; its events go to the fallback",
		"template", name, "max_channels", t.Most, "fallback", t.Fallback)
}
