package app

import (
	"strings"

	"slackrelay/notifier"
	"slackrelay/pipeline"
)

// targets returns the destinations that can be checked: those of the channels, of templates' channels, and the others.
func (g *generation) targets() []pipeline.Target {
	var all []pipeline.Target
	add := func(name string, sender notifier.Sender) {
		if checked, ok := sender.(notifier.Checked); ok {
			all = append(all, pipeline.Target{Name: name, Sender: checked})
		}
	}
	channels := func(some []pipeline.Channel) {
		for i := range some {
			if ch := &some[i]; ch.Name == pipeline.ChannelOfLane(ch.Name) {
				name := "channel " + ch.Name
				if strings.HasPrefix(ch.Name, "~") { // no configured channel has such a name
					name = "the canary"
				}
				add(name, ch.Sender)
				add("the fallback of channel "+ch.Name, ch.Fallback)
			}
		}
	}
	channels(g.channels)
	channels(g.instances.All())
	add("operations", g.operations)
	return all
}
