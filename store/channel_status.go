package store

import (
	"time"

	"slackrelay/ratelimit"
)

// StatusQuery asks for the state of one channel and of one of its levels.
type StatusQuery struct {
	Channel Channel
	Level   ratelimit.Level
	// Longest is the longest window that this configuration gives the level. The level may have longer ones, of other
	// replicas.
	Longest time.Duration
}

// ChannelStatus is the state of a channel and of one of its levels in one instant.
type ChannelStatus struct {
	Report
	Usage   []ratelimit.Usage // of the level, by window
	Warming time.Duration     // how long the level still counts too little, because its longest window was lengthened; 0 = it does not
	Active  bool              // events were admitted or dropped in this hour of the clock, or in the one before
}
