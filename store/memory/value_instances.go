package memory

import (
	"slackrelay/lua"
	"slackrelay/store"
)

// instances are the channels that templates made, by name.
type instances struct {
	all      map[string]store.Instance
	used     map[string]int64 // the last use of each, microseconds of store time
	counts   map[string]int64 // how many each template made
	revision int64
}

func (tx *Tx) instances() *instances {
	i := kept[instances](tx, lua.Instances)
	if i.all == nil {
		*i = instances{all: map[string]store.Instance{}, used: map[string]int64{}, counts: map[string]int64{}}
	}
	return i
}

// raiseRevision notes that the instances changed. It is the twin of the part "revision".
func (i *instances) raiseRevision(now int64) { i.revision = max(now, i.revision+1) }
