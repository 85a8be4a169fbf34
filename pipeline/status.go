package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// LimiterReader is the part of a limiter that a [StatusReader] calls; see [store.Counts].
type LimiterReader interface {
	store.Peeker
	store.Availability
	Statuses(ctx context.Context, queries []store.StatusQuery) ([]store.ChannelStatus, error)
	Categories(ctx context.Context, scope store.Channel) ([]store.CategoryCounts, error)
	Minutes(ctx context.Context, scope store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error)
}

// OutageReader reports how a limiter decides while Redis is unavailable.
type OutageReader interface {
	Health() replica.Health
	PolicyOf(scope store.Channel) replica.Policy
}

// StatusReader reads the state of channels, which all replicas share.
type StatusReader struct {
	limiter     LimiterReader
	channels    []Channel
	listed      []Channel // without lanes and instances
	instances   *Instances
	outages     OutageReader
	credentials store.Budget
	readings    readings

	destinations *Destinations
	others       []otherDestination
}

// NewStatusReader returns a StatusReader of the channels. outages is nil where there is no Redis, and credentials where no
// credential is shared.
func NewStatusReader(limiter LimiterReader, channels []Channel, outages OutageReader, credentials store.Budget) *StatusReader {
	listed := slices.DeleteFunc(slices.Clone(channels), func(ch Channel) bool { return isLane(ch.Name) })
	s := &StatusReader{limiter: limiter, channels: channels, listed: listed, outages: outages, credentials: credentials}
	s.readings.read = s.readAll
	s.readings.reuse = func(took time.Duration) time.Duration { return reuseFor(len(s.shown()), took) }
	return s
}

// Include makes the StatusReader show the channels that templates made too, after the configured ones.
func (s *StatusReader) Include(instances *Instances) { s.instances = instances }

// otherDestination is a destination that is not a channel's own.
type otherDestination struct {
	name   string
	sender notifier.Sender
}

// Watch makes the StatusReader show which destinations cannot be posted to: those of channels and of their fallbacks, and others by
// name; nil is none.
func (s *StatusReader) Watch(destinations *Destinations, others map[string]notifier.Sender) {
	s.destinations = destinations
	for i := range s.listed {
		if ch := &s.listed[i]; ch.Fallback != nil {
			s.others = append(s.others, otherDestination{"the fallback of channel " + ch.Name, ch.Fallback})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if others[name] != nil {
			s.others = append(s.others, otherDestination{name, others[name]})
		}
	}
}

// HasInstance reports whether a template made a channel of that name. A nil StatusReader has none.
func (s *StatusReader) HasInstance(name string) bool {
	return s != nil && !isLane(name) && s.instances.find(name) != nil
}

// shown returns all channels without lanes. The caller must not change them.
func (s *StatusReader) shown() []Channel {
	if s.instances == nil {
		return s.listed
	}
	made, _ := s.instances.list()
	return append(slices.Clip(s.listed), made...)
}

// Health returns the state of the limiter.
func (s *StatusReader) Health() replica.Health {
	if s.outages == nil {
		return replica.Health{Up: true, Replicas: 1}
	}
	return s.outages.Health()
}

// Away returns the channels that are decided without Redis now, with the policy of each and the reason. When Redis does not
// answer, these are all channels.
func (s *StatusReader) Away(ctx context.Context) map[string]replica.AwayStatus {
	away := map[string]replica.AwayStatus{}
	for _, ch := range s.Health().Away {
		if !isLane(ch.Channel) {
			away[ch.Channel] = ch
		}
	}
	err := s.Ping(ctx)
	if err == nil {
		return away
	}
	all := s.shown()
	for i := range all {
		ch := &all[i]
		known := replica.AwayStatus{Channel: ch.Name, Policy: replica.PolicyClosed, Why: store.Describe(err)}
		if s.outages != nil {
			known.Policy = s.outages.PolicyOf(ch.Scope())
		}
		away[ch.Name] = known
	}
	return away
}

// Channels returns the names of the channels, in the order of the configuration and then those of templates, without lanes.
func (s *StatusReader) Channels() []string {
	var names []string
	all := s.shown()
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// Ping returns an error while nothing can be read or decided.
func (s *StatusReader) Ping(ctx context.Context) error { return s.limiter.Ping(ctx) }

// Durable reports whether what is admitted survives this process.
func (s *StatusReader) Durable() bool { return s.limiter.Durable() }

// Reading returns the state of all channels. Up to 100 channels are read for each caller. A reading of more is shared by all
// who ask, and used again for a second or more: so long that readings take 4 % of the time. Nothing is read while nobody asks.
func (s *StatusReader) Reading(ctx context.Context) (*Reading, error) { return s.readings.get(ctx) }

// Latest returns the last reading, however old it is, and reads nothing; nil = there is none.
func (s *StatusReader) Latest() *Reading { return s.readings.latest() }

// ReadsAlways reports whether there are so few channels that each call of [StatusReader.Reading] reads them.
func (s *StatusReader) ReadsAlways() bool { return len(s.shown()) <= alwaysRead }

// Channel reads one channel with its categories.
func (s *StatusReader) Channel(ctx context.Context, name string) (ChannelStatus, error) {
	ch, err := channelOf(s.channels, s.instances, name)
	if err != nil {
		return ChannelStatus{}, err
	}
	all, err := s.readSome(ctx, []Channel{ch}, s.surroundings(ctx))
	if err != nil {
		return ChannelStatus{}, err
	}
	all[0].Categories, err = s.categories(ctx, &ch)
	return all[0], err
}

// categories reads how full the channel's categories are.
func (s *StatusReader) categories(ctx context.Context, ch *Channel) ([]CategoryStatus, error) {
	counts, err := s.limiter.Categories(ctx, ch.Scope())
	if err != nil {
		return nil, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	levels := make([]ratelimit.Level, len(counts))
	for i, c := range counts {
		levels[i] = ch.categoryLevel(c.Category)
	}
	usage, err := store.UsageOf(ctx, s.limiter, ch.Scope(), levels)
	if err != nil {
		return nil, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	all := make([]CategoryStatus, len(counts))
	first := ch.Tiers[1].Windows[0]
	for i, c := range counts {
		n := 1 // the windows of this category; while replicas have different windows, those of the others too
		for n < len(usage) && usage[n].Window != first {
			n++
		}
		fullest := slices.MaxFunc(usage[:n], func(a, b ratelimit.Usage) int { return cmp.Compare(a.RetryAfter, b.RetryAfter) })
		usage = usage[n:]
		all[i] = CategoryStatus{
			Category: c.Category, Used: fullest.Used, Limit: fullest.Window.Limit, Per: fullest.Window.Per.Seconds(),
			RetryAfter: secondsOf(fullest.RetryAfter), Admitted: c.Admitted, Dropped: c.Dropped,
		}
	}
	return all, nil
}
