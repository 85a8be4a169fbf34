package configs

import (
	"cmp"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
)

// Flapping is when an alert counts as flapping: it is posted once with the number of its changes, and then not until it is
// stable.
type Flapping struct {
	// Changes is the number of changes between firing and resolved that make an alert flap. 0 turns this off.
	Changes int64 `yaml:"changes" min:"0" max:"100" unset:"off"`
	// Within is the time in which so many changes are too many.
	Within time.Duration `yaml:"within" initial:"10m" min:"1s" max:"24h" when:"changes"`
	// Stable is how long an alert must not change until its state is posted again.
	Stable time.Duration `yaml:"stable" initial:"15m" min:"1s" max:"24h" when:"changes"`
}

// Inhibition mutes alerts that follow from others: while a source fires, the targets with the same values of some labels are
// muted. Both may come from any sender, in any channel.
type Inhibition struct {
	// Name is the name of the inhibition in receipts.
	Name string `yaml:"name"`
	// Source are conditions that an alert must fulfil to mute others. Each has a field and one of is, in and matches.
	Source []events.Matcher `yaml:"source"`
	// Target are conditions that an alert must fulfil to be muted.
	Target []events.Matcher `yaml:"target"`
	// Equal are the labels that must have the same value in both. A label that both lack is equal.
	Equal []string `yaml:"equal"`
	// SourceTTL is how long a source counts as firing after its last event.
	SourceTTL time.Duration `yaml:"source_ttl" min:"1m" max:"744h" unset:"24h"`
	// ReleaseAfter is how long after the end of the sources the targets that still fire are posted.
	ReleaseAfter time.Duration `yaml:"release_after" min:"1s" max:"24h" unset:"1m"`
}

func (i Inhibition) compile() (*problem.CompiledInhibition, error) {
	return problem.Inhibition{
		Name: i.Name, Source: i.Source, Target: i.Target, Equal: i.Equal,
		SourceTTL: cmp.Or(i.SourceTTL, 24*time.Hour), ReleaseAfter: cmp.Or(i.ReleaseAfter, time.Minute),
	}.Compile()
}

// CompiledInhibitions returns the inhibitions of a valid configuration.
func (c *Config) CompiledInhibitions() []*problem.CompiledInhibition {
	var all []*problem.CompiledInhibition
	for _, i := range c.Inhibitions {
		if compiled, err := i.compile(); err == nil {
			all = append(all, compiled)
		}
	}
	return all
}

func (c *Config) validateInhibitions(v validator) {
	names := map[string]bool{}
	for n, i := range c.Inhibitions {
		in := v.in(indexed("inhibitions", n))
		switch {
		case i.Name == "":
			in.fault("name", "is empty; receipts name the inhibition that muted an event")
		case names[i.Name]:
			in.fault("name", "%q is the name of another inhibition; use each name once", i.Name)
		}
		names[i.Name] = true
		if _, err := i.compile(); err != nil {
			if fault, ok := err.(*problem.MatcherError); ok { //nolint:errorlint // it is not wrapped
				in.fault(fault.Field, "%v", fault.Err)
			}
		}
	}
}

func (f Flapping) validate(v validator) {
	if f.Changes == 1 {
		v.fault("changes", "1 is out of range; use 2 or more, or 0 to turn this off")
	}
}

// flapping returns what the channel follows.
func (c Channel) flapping() problem.Flapping {
	return problem.Flapping{Changes: int(c.Flapping.Changes), Within: c.Flapping.Within, Stable: c.Flapping.Stable}
}
