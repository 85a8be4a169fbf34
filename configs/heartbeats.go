package configs

import (
	"cmp"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
)

// Heartbeat is a regular sign of life of a sender. If it is missing, the relay posts that in a channel.
type Heartbeat struct {
	// Name is the name of the heartbeat. Senders send it to `/heartbeats/<name>`.
	Name string `yaml:"name" format:"heartbeat"`
	// Channel is the channel that is notified when the heartbeat is missing, and when it is back. A sender needs a credential of
	// this channel.
	Channel string `yaml:"channel"`
	// Every is the longest time between two heartbeats.
	Every time.Duration `yaml:"every" min:"1s" max:"744h"`
	// Grace is how late a heartbeat may be.
	Grace time.Duration `yaml:"grace" min:"1s" max:"744h" unset:"1m"`
	// Severity is the severity of the event that the heartbeat is missing.
	Severity string `yaml:"severity" oneof:"critical,error,warning,info" unset:"error"`
	// Category is the category of this event.
	Category string `yaml:"category" format:"category" unset:"heartbeat"`
	// Match are conditions as in a rule. An event of the channel that fulfils all of them is a heartbeat too, and is muted.
	Match []events.Matcher `yaml:"match"`
}

// maxHeartbeats bounds the heartbeats of a relay: each has metric series of its own.
const maxHeartbeats = 1000

// defaultGrace is how late a heartbeat may be where nothing else is set.
const defaultGrace = time.Minute

// SenderHeartbeats returns the heartbeats of a valid configuration for the pipeline.
func (c *Config) SenderHeartbeats() []pipeline.Heartbeat {
	all := make([]pipeline.Heartbeat, len(c.Heartbeats))
	for i, h := range c.Heartbeats {
		all[i] = pipeline.Heartbeat{
			Heartbeat: problem.Heartbeat{Name: h.Name, Every: h.Every, Grace: cmp.Or(h.Grace, defaultGrace)},
			Channel:   h.Channel,
			Severity:  events.Severity(cmp.Or(h.Severity, string(events.Error))),
			Category:  cmp.Or(h.Category, pipeline.HeartbeatSource),
		}
		for _, m := range h.Match {
			compiled, _ := m.Compile() // validated before
			all[i].Match = append(all[i].Match, compiled)
		}
	}
	return all
}

func (c *Config) validateHeartbeats(v validator) {
	if n := len(c.Heartbeats); n > maxHeartbeats {
		v.fault("heartbeats", "has %d entries, at most %d are allowed; remove some", n, maxHeartbeats)
	}
	known := c.indexes()
	names := map[string]bool{}
	for i, h := range c.Heartbeats {
		in := v.in(indexed("heartbeats", i))
		if names[h.Name] {
			in.fault("name", "%q is the name of another heartbeat; use each name once", h.Name)
		}
		names[h.Name] = true
		switch i, ok := known[h.Channel]; {
		case !ok:
			in.fault("channel", "%q is not a channel; use the name of one", h.Channel)
		case c.Channels[i].isTemplate():
			in.fault("channel", "%q is a template; use a channel without a placeholder", h.Channel)
		}
		for j, m := range h.Match {
			if _, err := m.Compile(); err != nil {
				in.fault(indexed("match", j), "%v", err)
			}
		}
	}
}
