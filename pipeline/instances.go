package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"slackrelay/events"
	"slackrelay/store"
)

// Instances are the channels that the templates of one configuration make of the instances that a [Registry] knows. A channel is
// made when it is first asked for. All parts of a pipeline share one Instances; nil = there are no templates.
type Instances struct {
	templates  map[string]*Template // by the text of their pattern
	configured map[string]bool      // the names of the configured channels, which take precedence
	registry   *Registry
	metrics    *Metrics // nil = nothing is counted

	mu     sync.RWMutex
	made   map[string]*instanceChannel // by the name of the channel, without lanes
	listed []Channel                   // without lanes, by name
	lists  int64                       // how often the list changed
	asOf   int64                       // the changes of the registry when it was made
}

// instanceChannel is a channel that a template made.
type instanceChannel struct {
	of      store.Instance
	builder *RequestBuilder
	lane    *RequestBuilder // nil = it has no test lane
}

// NewInstances returns the Instances of templates beside configured channels; nil = there are no templates.
func NewInstances(templates []Template, configured []Channel, registry *Registry, metrics *Metrics) *Instances {
	if len(templates) == 0 {
		return nil
	}
	s := &Instances{
		templates: map[string]*Template{}, configured: map[string]bool{}, registry: registry, metrics: metrics,
		made: map[string]*instanceChannel{}, asOf: -1,
	}
	for i := range templates {
		name := templates[i].Pattern.String()
		s.templates[name] = &templates[i]
		metrics.initTemplateFallbacks(name)
	}
	for i := range configured {
		s.configured[configured[i].Name] = true
	}
	return s
}

// examples returns a channel of each template, with its settings.
func (s *Instances) examples() []Channel {
	if s == nil {
		return nil
	}
	all := make([]Channel, 0, len(s.templates))
	for _, t := range s.templates {
		all = append(all, t.Make("example"))
	}
	return all
}

// resolve returns the name of the channel that an event goes to which is sent to a template: an instance, a configured channel
// of that name, or the fallback, and why then. It returns "" if there is no such template.
func (s *Instances) resolve(ctx context.Context, template string, e *events.Event) (channel, why string) {
	if s == nil {
		return "", ""
	}
	t := s.templates[template]
	if t == nil {
		return "", ""
	}
	instance, why := t.InstanceOf(e)
	if why == "" && !s.configured[instance.Name] {
		why = s.registry.use(ctx, instance, t.Most)
	}
	if why != "" {
		return t.Fallback, why
	}
	return instance.Name, ""
}

// noteFallback counts an event that goes to the fallback of a template, and logs that the template is full.
func (s *Instances) noteFallback(ctx context.Context, template, why string) {
	s.metrics.countTemplateFallback(template, why)
	if why == FullTemplate {
		s.registry.logFull(ctx, s.templates[template])
	}
}

// builder returns the RequestBuilder of an instance, or of its test lane; nil = there is none of that name.
func (s *Instances) builder(name string) *RequestBuilder {
	if s == nil {
		return nil
	}
	instance, lane := strings.CutSuffix(name, testSuffix)
	one := s.channel(instance)
	switch {
	case one == nil:
		return nil
	case lane:
		return one.lane
	default:
		return one.builder
	}
}

// find returns an instance, or its test lane, as a channel; nil = there is none of that name.
func (s *Instances) find(name string) *Channel {
	if b := s.builder(name); b != nil {
		return b.Channel
	}
	return nil
}

// channel returns the channel of a name, and makes it if it was not asked for before.
func (s *Instances) channel(name string) *instanceChannel {
	instance, known := s.registry.get(name)
	t := s.templates[instance.Template]
	if !known || t == nil || s.configured[name] {
		return nil
	}
	s.mu.RLock()
	one := s.made[name]
	s.mu.RUnlock()
	if one != nil && one.of == instance {
		return one
	}
	one = newInstanceChannel(instance, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.made[name]; other != nil && other.of == instance {
		return other // another event made it meanwhile
	}
	s.made[name] = one
	return one
}

func newInstanceChannel(instance store.Instance, t *Template) *instanceChannel {
	ch := t.Make(instance.Value)
	one := &instanceChannel{of: instance, builder: ch.RequestBuilder()}
	if !ch.backlogged() {
		lane := ch.TestLane()
		one.lane = lane.RequestBuilder()
	}
	return one
}

// list returns all instances without lanes, by name, and a number that rises with each change of the list. The caller must not
// change the list.
func (s *Instances) list() ([]Channel, int64) {
	if s == nil {
		return nil, 0
	}
	changes := s.registry.changes.Load()
	s.mu.RLock()
	listed, lists, asOf := s.listed, s.lists, s.asOf
	s.mu.RUnlock()
	if asOf == changes {
		return listed, lists
	}
	names := s.registry.names()
	listed = make([]Channel, 0, len(names))
	for name := range names {
		if one := s.channel(name); one != nil {
			listed = append(listed, *one.builder.Channel)
		}
	}
	slices.SortFunc(listed, func(a, b Channel) int { return cmp.Compare(a.Name, b.Name) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.made {
		if !names[name] {
			delete(s.made, name)
		}
	}
	s.listed, s.asOf = listed, changes
	s.lists++
	return listed, s.lists
}

// scopes names the channel, its test lane and its fallback in the store.
func (c *Channel) scopes() []store.Channel {
	all := []store.Channel{c.Scope()}
	if !c.backlogged() {
		all = append(all, store.Channel{Name: TestLaneOf(c.Name)})
	}
	if c.Fallback != nil {
		fallback := c.fallback()
		all = append(all, fallback.Scope())
	}
	return all
}

// All returns all instances without lanes, by name.
func (s *Instances) All() []Channel {
	listed, _ := s.list()
	return slices.Clone(listed)
}

// TemplateOf returns the name of the template of an instance, which is no test lane.
func (s *Instances) TemplateOf(name string) (template string, ok bool) {
	if s == nil || s.channel(name) == nil {
		return "", false
	}
	instance, ok := s.registry.get(name)
	return instance.Template, ok
}

// Find returns an instance by its name.
func (s *Instances) Find(name string) (Channel, bool) {
	if ch := s.find(name); ch != nil {
		return *ch, true
	}
	return Channel{}, false
}
