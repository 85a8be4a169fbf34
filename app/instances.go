package app

import "slackrelay/ratelimit/replica"

// instancesChanged announces the windows of new instances to the other replicas, and ends what this process keeps of those that
// vanished.
func (r *Relay) instancesChanged(vanished []string) {
	for _, channel := range vanished {
		r.labels.Forget(channel)
		r.previewing.Lock()
		delete(r.previews, channel)
		r.previewing.Unlock()
	}
	if g := r.current.Load(); r.replica != nil && g.instances != nil {
		r.replica.SetLevels(g.levels())
	}
}

// policyOfInstance returns what an instance does while Redis is unavailable; "" = there is none of that name.
func (r *Relay) policyOfInstance(channel string) replica.Policy {
	g := r.current.Load()
	if g == nil {
		return ""
	}
	template, ok := g.instances.TemplateOf(channel)
	if !ok {
		return ""
	}
	settings, _ := g.cfg.Channel(template)
	return replica.Policy(settings.OnRedisDown)
}
