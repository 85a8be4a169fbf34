package configs

import (
	"reflect"
	"slices"
	"strings"
)

// variableOwners finds the channels that a variable could belong to. It asks a name what it could mean, because thousands of
// channels have some fifty variables each, of which few are set.
type variableOwners struct {
	channels []Channel
	byPrefix map[string][]int // the indexes of the channels, by how their variables begin
	endings  []string         // of variables: the settings of a channel, in capitals
}

func newVariableOwners(channels []Channel) variableOwners {
	o := variableOwners{channels: channels, byPrefix: make(map[string][]int, len(channels))}
	for i := range channels {
		prefix := channels[i].prefix()
		o.byPrefix[prefix] = append(o.byPrefix[prefix], i)
	}
	o.endings = append(variablesOf(reflect.TypeFor[Channel](), ""), variable("", removedEngine)) // which is a fault already
	return o
}

// of returns the names of the channels that a variable could belong to, each once, in the order of the channels.
func (o variableOwners) of(variable string) []string {
	var found []int
	for _, ending := range o.endings {
		if prefix, ok := strings.CutSuffix(variable, ending); ok {
			found = append(found, o.byPrefix[prefix]...)
		}
	}
	slices.Sort(found)
	var names []string
	for _, i := range found {
		if name := o.channels[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
