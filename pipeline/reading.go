package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	"slackrelay/ratelimit"
)

// A reading of up to alwaysRead channels costs little, so it is made for everyone who asks. With more channels, a reading is
// used again for a second at least, and for so long that readings take a share of 1/readingShare of the time.
const (
	alwaysRead   = 100
	minReuse     = time.Second
	readingShare = 25
)

// readingTimeout bounds how long one reading may take.
const readingTimeout = 30 * time.Second

// Reading is the state of all channels, read at about one time. It is shared: change nothing in it.
type Reading struct {
	At       time.Time       // when it began
	Channels []ChannelStatus // in the order of the configuration, then those of templates; without lanes and categories

	Others []OtherFault // of destinations that are not a channel's own

	index map[string]int // of Channels, by name
}

// OtherFault is the fault of a destination that is not a channel's own.
type OtherFault struct {
	DestinationFault

	Name string // for example "the fallback of channel alerts"
}

// place returns the index of a channel in Channels; a nil Reading has none.
func (r *Reading) place(channel string) (i int, known bool) {
	if r == nil {
		return 0, false
	}
	i, known = r.index[channel]
	return i, known
}

// Paused returns how many channels are paused.
func (r *Reading) Paused() (n int) {
	for i := range r.Channels {
		if r.Channels[i].State.PausedUntil != nil {
			n++
		}
	}
	return n
}

// Broken returns how many channels Slack refuses to post to.
func (r *Reading) Broken() (n int) {
	for i := range r.Channels {
		if r.Channels[i].State.Fault != nil {
			n++
		}
	}
	return n
}

// readings makes readings while somebody asks for them, one at a time, and shares each among all who ask.
type readings struct {
	read  func(ctx context.Context, before *Reading) (*Reading, error)
	reuse func(took time.Duration) time.Duration // how long a reading is used again

	mu      sync.Mutex
	last    *Reading // nil = there is none
	took    time.Duration
	current *flight // nil = none is being made
}

// flight is a reading that is being made. err and reading are set when done is closed.
type flight struct {
	began   time.Time
	done    chan struct{}
	reading *Reading
	err     error
}

// get returns a reading that is not too old, and waits for it until ctx ends.
func (r *readings) get(ctx context.Context) (*Reading, error) {
	asked := time.Now()
	for {
		made, current := r.madeSince(asked)
		if made != nil {
			return made, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: wait for a reading of the channels: %w", ratelimit.ErrUnavailable, ctx.Err())
		case <-current.done:
		}
		if current.began.Before(asked) {
			continue // it may lack what happened before the caller asked
		}
		return current.reading, current.err
	}
}

// madeSince returns the last reading if it is good enough for somebody who asks now, else the one that is being made.
func (r *readings) madeSince(asked time.Time) (*Reading, *flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && !r.last.At.Before(asked.Add(-r.reuse(r.took))) {
		return r.last, nil
	}
	if r.current == nil {
		r.current = &flight{began: time.Now(), done: make(chan struct{})}
		go r.make(r.current, r.last)
	}
	return nil, r.current
}

// make makes a reading. It does not end with the caller that asked first, because others wait for it too.
func (r *readings) make(f *flight, before *Reading) {
	ctx, cancel := context.WithTimeout(context.Background(), readingTimeout)
	defer cancel()
	f.reading, f.err = r.read(ctx, before)
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.err == nil {
		f.reading.At = f.began
		r.last = f.reading
		r.took = time.Since(f.began)
	}
	r.current = nil
	close(f.done)
}

// latest returns the last reading, however old it is; nil = there is none.
func (r *readings) latest() *Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// reuseFor returns how long a reading of so many channels, which took some time, is used again.
func reuseFor(channels int, took time.Duration) time.Duration {
	if channels <= alwaysRead {
		return 0
	}
	return max(minReuse, readingShare*took)
}
