package pipeline

import (
	"cmp"
	"context"
	"fmt"
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
	Report(ctx context.Context, scope store.Channel) (store.Report, error)
	Categories(ctx context.Context, scope store.Channel) ([]store.CategoryCounts, error)
	Minutes(ctx context.Context, scope store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error)
	Warming(ctx context.Context, scope store.Channel, tiers []ratelimit.LevelSpec) ([]time.Duration, error)
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
	listed      []Channel // without lanes
	outages     OutageReader
	credentials store.Budget
}

// NewStatusReader returns a StatusReader of the channels. outages is nil where there is no Redis, and credentials where no
// credential is shared.
func NewStatusReader(limiter LimiterReader, channels []Channel, outages OutageReader, credentials store.Budget) *StatusReader {
	listed := slices.DeleteFunc(slices.Clone(channels), func(ch Channel) bool { return isLane(ch.Name) })
	return &StatusReader{limiter: limiter, channels: channels, listed: listed, outages: outages, credentials: credentials}
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
	for i := range s.listed {
		ch := &s.listed[i]
		known := replica.AwayStatus{Channel: ch.Name, Policy: replica.PolicyClosed, Why: store.Describe(err)}
		if s.outages != nil {
			known.Policy = s.outages.PolicyOf(ch.Scope())
		}
		away[ch.Name] = known
	}
	return away
}

// Channels returns the names of the channels, in the order of the configuration, without lanes.
func (s *StatusReader) Channels() []string {
	var names []string
	for i := range s.listed {
		names = append(names, s.listed[i].Name)
	}
	return names
}

// Ping returns an error while nothing can be read or decided.
func (s *StatusReader) Ping(ctx context.Context) error { return s.limiter.Ping(ctx) }

// Durable reports whether what is admitted survives this process.
func (s *StatusReader) Durable() bool { return s.limiter.Durable() }

// All reads every channel except lanes, without their categories.
func (s *StatusReader) All(ctx context.Context) ([]ChannelStatus, error) {
	all := make([]ChannelStatus, len(s.listed))
	for i := range s.listed {
		var err error
		if all[i], err = s.read(ctx, &s.listed[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Channel reads one channel with its categories.
func (s *StatusReader) Channel(ctx context.Context, name string) (ChannelStatus, error) {
	ch, err := channelOf(s.channels, name)
	if err != nil {
		return ChannelStatus{}, err
	}
	status, err := s.read(ctx, &ch)
	if err != nil {
		return ChannelStatus{}, err
	}
	status.Categories, err = s.categories(ctx, &ch)
	return status, err
}

func (s *StatusReader) read(ctx context.Context, ch *Channel) (ChannelStatus, error) {
	report, err := s.limiter.Report(ctx, ch.Scope())
	if err != nil {
		return ChannelStatus{}, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	usage, err := store.UsageOf(ctx, s.limiter, ch.Scope(), []ratelimit.Level{ch.channelLevel()})
	if err != nil {
		return ChannelStatus{}, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	warming, err := s.limiter.Warming(ctx, ch.Scope(), ch.Tiers)
	if err != nil {
		return ChannelStatus{}, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	status := ChannelStatus{Channel: ch.Name, Ledger: report.Ledger, Oldest: report.Oldest, OldestSeconds: report.Oldest.Seconds()}
	for _, u := range usage {
		status.Levels = append(status.Levels, LevelStatus{
			Level: u.Level, Limit: u.Window.Limit, Per: u.Window.Per.Seconds(), Used: u.Used, RetryAfter: secondsOf(u.RetryAfter),
			Warming: warming[0].Seconds(),
		})
	}
	status.State = s.state(ctx, ch, report)
	return status, nil
}

// state returns whether the channel sends, and the policy that decides while Redis is unavailable.
func (s *StatusReader) state(ctx context.Context, ch *Channel, report store.Report) ChannelState {
	var state ChannelState
	paused, reason := report.PausedFor, report.PauseReason
	if paused == 0 {
		paused, reason = s.credentialPause(ctx, ch)
	}
	if paused > 0 {
		until := time.Now().Add(paused).UTC()
		state.PausedUntil = &until
		state.Reason = reason
	}
	for _, away := range s.Health().Away {
		if away.Channel == ch.Name {
			state.Fallback = away.Policy
		}
	}
	return state
}

// credentialPause returns for how long the channel's credential is paused, because Slack refused it, and why.
func (s *StatusReader) credentialPause(ctx context.Context, ch *Channel) (time.Duration, string) {
	shared, ok := ch.Sender.(notifier.Workspace)
	if !ok || s.credentials == nil || len(s.Health().Away) > 0 {
		return 0, ""
	}
	wait, reason, err := s.credentials.CredentialPaused(ctx, shared.Workspace())
	if err != nil {
		return 0, "" // the channel was read before: the next reader finds out whether Redis is unavailable
	}
	return wait, reason
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
