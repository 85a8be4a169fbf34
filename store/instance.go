package store

import "time"

// Instance is a channel that a template made for one value of a label. Its name says which keys it has.
type Instance struct {
	Name     string // of the channel
	Template string // the name of the template
	Value    string // of the label
}

// IdleInstance is an instance that was not used for a time.
type IdleInstance struct {
	Name string
	Idle time.Duration
}

// MaxIdleInstances is how many idle instances one call returns at most.
const MaxIdleInstances = 10_000
