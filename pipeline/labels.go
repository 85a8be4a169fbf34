package pipeline

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// otherLabel stands for all channels, or categories, without metric series of their own.
const otherLabel = "other"

// A channel keeps its series for idleAfter after its last event. The idle ones are looked for at most every sweepEvery.
const (
	idleAfter  = time.Hour
	sweepEvery = time.Minute
)

// ChannelLabels bounds how many channels have metric series of their own. While there are more, those with events within the
// last hour have theirs, and all others are counted as "other". nil = there is no bound.
type ChannelLabels struct {
	most int

	mu      sync.Mutex
	used    map[string]time.Time // when a channel with series of its own was last used
	swept   time.Time
	vectors []seriesVector
}

// seriesVector is a metric with series by channel.
type seriesVector interface {
	DeletePartialMatch(labels prometheus.Labels) int
}

// NewChannelLabels returns ChannelLabels for at most so many channels.
func NewChannelLabels(most int) *ChannelLabels {
	return &ChannelLabels{most: most, used: map[string]time.Time{}}
}

// Bound makes the series of metrics end when a channel gives its place to another.
func (l *ChannelLabels) Bound(vectors ...seriesVector) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vectors = append(l.vectors, vectors...)
}

// Fits reports whether so many channels all have series of their own.
func (l *ChannelLabels) Fits(channels int) bool { return l == nil || channels <= l.most }

// Of returns the label of a channel that is used now.
func (l *ChannelLabels) Of(channel string) string {
	if l == nil || channel == "" {
		return channel
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.used[channel]
	if !known && len(l.used) >= l.most {
		l.sweep(now)
	}
	if !known && len(l.used) >= l.most {
		return otherLabel
	}
	l.used[channel] = now
	return channel
}

// Offer returns the label of a channel that was used lately, maybe by another replica. It gets series of its own if there is
// room, until a channel that is used here needs them.
func (l *ChannelLabels) Offer(channel string) string {
	if l == nil {
		return channel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.used[channel]; known {
		return channel
	}
	if len(l.used) >= l.most {
		return otherLabel
	}
	l.used[channel] = time.Time{}
	return channel
}

// Known returns the label of a channel, whether or not it is used now.
func (l *ChannelLabels) Known(channel string) string {
	if l == nil {
		return channel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.used[channel]; known {
		return channel
	}
	return otherLabel
}

// Forget ends the series of a channel that no longer exists.
func (l *ChannelLabels) Forget(channel string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(channel)
}

// forget ends the series of a channel. The caller holds mu.
func (l *ChannelLabels) forget(channel string) {
	delete(l.used, channel)
	for _, vector := range l.vectors {
		vector.DeletePartialMatch(prometheus.Labels{"channel": channel})
	}
}

// sweep ends the series of idle channels. The caller holds mu.
func (l *ChannelLabels) sweep(now time.Time) {
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	for channel, at := range l.used {
		if now.Sub(at) < idleAfter {
			continue
		}
		l.forget(channel)
	}
}
