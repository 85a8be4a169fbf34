package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// Status reads how the channels stand. What it reads is shared by all replicas.
type Status struct {
	limiter  store.Limiter
	channels []Channel
	outages  Outages
	budget   store.Budget
}

// Outages tells how a limiter goes on while Redis is away.
type Outages interface {
	Health() replica.Health
	PolicyOf(scope store.Channel) replica.Policy
}

// NewStatus makes a Status of the channels; outages may be nil, where there is no Redis that could be away, and budget
// where no credential is shared.
func NewStatus(limiter store.Limiter, channels []Channel, outages Outages, budget store.Budget) *Status {
	return &Status{limiter: limiter, channels: channels, outages: outages, budget: budget}
}

// Health tells how the limiter stands.
func (s *Status) Health() replica.Health {
	if s.outages == nil {
		return replica.Health{Up: true, Replicas: 1}
	}
	return s.outages.Health()
}

// Away lists the channels that are decided without Redis now, with the policy of each and why: those of which that is
// known, or all when Redis does not answer.
func (s *Status) Away(ctx context.Context) map[string]replica.AwayStatus {
	away := map[string]replica.AwayStatus{}
	for _, ch := range s.Health().Away {
		if !strings.Contains(ch.Channel, "~") { // a lane
			away[ch.Channel] = ch
		}
	}
	err := s.Ping(ctx)
	if err == nil {
		return away
	}
	for _, ch := range s.channels {
		if ch.Lane {
			continue
		}
		known := replica.AwayStatus{Channel: ch.Name, Policy: replica.PolicyClosed, Why: store.Describe(err)}
		if s.outages != nil {
			known.Policy = s.outages.PolicyOf(ch.scope())
		}
		away[ch.Name] = known
	}
	return away
}

// ChannelStatus is how one channel stands. It is the answer of the API.
type ChannelStatus struct {
	Channel    string           `json:"channel"`
	Levels     []LevelStatus    `json:"levels"`
	Ledger     store.Ledger     `json:"ledger"`
	Categories []CategoryStatus `json:"categories,omitzero"`
	State      ChannelState     `json:"state"`

	// OldestSeconds is the age of the oldest message in the outbox; 0 where there is none.
	OldestSeconds float64 `json:"oldest_seconds"`

	Oldest time.Duration `json:"-"` // the same
}

// LevelStatus is how full a level is. Per and RetryAfter are in seconds; a RetryAfter of 0 means that one
// more event fits now.
type LevelStatus struct {
	Level      string  `json:"level"`
	Limit      int64   `json:"limit"`
	Per        float64 `json:"per"`
	Used       int64   `json:"used"`
	RetryAfter float64 `json:"retry_after"`
	// Warming is for how long the level still counts too little, because its window was lengthened; absent = not.
	Warming float64 `json:"warming,omitempty"`
}

// CategoryStatus is how full a category is, and what became of its events within 24 hours.
type CategoryStatus struct {
	Category string `json:"category"`
	Used     int64  `json:"used"`
	Limit    int64  `json:"limit"`
	// Per is the length of that window, and RetryAfter when one more event fits the category; both in seconds.
	Per        float64 `json:"per"`
	RetryAfter float64 `json:"retry_after"`
	Admitted   int64   `json:"admitted"`
	Dropped    int64   `json:"dropped"`
}

// ChannelState says until when the channel sends nothing, and why.
type ChannelState struct {
	PausedUntil *time.Time `json:"paused_until"` // nil = it sends
	Reason      string     `json:"reason"`
	// Fallback is the policy that decides while Redis is away: what is told then is this replica's alone.
	Fallback replica.Policy `json:"fallback,omitempty"`
}

// Channels are the names, in the order of the configuration.
func (s *Status) Channels() []string {
	var names []string
	for _, ch := range s.channels {
		if !ch.Lane {
			names = append(names, ch.Name)
		}
	}
	return names
}

// Ping tells whether anything can be read or decided now.
func (s *Status) Ping(ctx context.Context) error {
	return s.limiter.Ping(ctx)
}

// Durable tells whether what is admitted survives this process.
func (s *Status) Durable() bool { return s.limiter.Durable() }

// All reads every channel, without its categories.
func (s *Status) All(ctx context.Context) ([]ChannelStatus, error) {
	all := make([]ChannelStatus, 0, len(s.channels))
	for _, ch := range s.channels {
		if ch.Lane {
			continue
		}
		status, err := s.read(ctx, ch)
		if err != nil {
			return nil, err
		}
		all = append(all, status)
	}
	return all, nil
}

// Channel reads one channel with its categories.
func (s *Status) Channel(ctx context.Context, name string) (ChannelStatus, error) {
	ch, err := channelOf(s.channels, name)
	if err != nil {
		return ChannelStatus{}, err
	}
	status, err := s.read(ctx, ch)
	if err != nil {
		return ChannelStatus{}, err
	}
	status.Categories, err = s.categories(ctx, ch)
	return status, err
}

func (s *Status) read(ctx context.Context, ch Channel) (ChannelStatus, error) {
	report, err := s.limiter.Report(ctx, ch.scope())
	if err != nil {
		return ChannelStatus{}, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	usage, err := store.UsageOf(ctx, s.limiter, ch.scope(), []ratelimit.Level{ch.levels(events.Event{})[0]})
	if err != nil {
		return ChannelStatus{}, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	warming, err := s.limiter.Warming(ctx, ch.scope(), ch.Tiers)
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
	paused, reason := report.PausedFor, report.PauseReason
	if paused == 0 {
		paused, reason = s.refused(ctx, ch)
	}
	if paused > 0 {
		until := time.Now().Add(paused).UTC()
		status.State = ChannelState{PausedUntil: &until, Reason: reason}
	}
	for _, away := range s.Health().Away {
		if away.Channel == ch.Name {
			status.State.Fallback = away.Policy
		}
	}
	return status, nil
}

// refused tells for how long the credential of a channel is not used, because Slack refused it.
func (s *Status) refused(ctx context.Context, ch Channel) (time.Duration, string) {
	shared, ok := ch.Sender.(notifier.Workspace)
	if !ok || s.budget == nil || len(s.Health().Away) > 0 {
		return 0, ""
	}
	wait, reason, err := s.budget.CredentialPaused(ctx, shared.Workspace())
	if err != nil {
		return 0, "" // what was read before tells that Redis is away, or nothing is wrong
	}
	return wait, reason
}

func (s *Status) categories(ctx context.Context, ch Channel) ([]CategoryStatus, error) {
	counts, err := s.limiter.Categories(ctx, ch.scope())
	if err != nil {
		return nil, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	levels := make([]ratelimit.Level, len(counts))
	for i, c := range counts {
		levels[i] = ch.levels(events.Event{Category: c.Category})[1]
	}
	usage, err := store.UsageOf(ctx, s.limiter, ch.scope(), levels)
	if err != nil {
		return nil, fmt.Errorf("read channel %s: %w", ch.Name, err)
	}
	all, first := make([]CategoryStatus, len(counts)), ch.Tiers[1].Windows[0]
	for i, c := range counts {
		n := 1 // its windows, and while replicas have different ones, those of the others
		for n < len(usage) && usage[n].Window != first {
			n++
		}
		full := slices.MaxFunc(usage[:n], func(a, b store.Usage) int { return cmp.Compare(a.RetryAfter, b.RetryAfter) })
		usage = usage[n:]
		all[i] = CategoryStatus{
			Category: c.Category, Used: full.Used, Limit: full.Window.Limit, Per: full.Window.Per.Seconds(),
			RetryAfter: secondsOf(full.RetryAfter), Admitted: c.Admitted, Dropped: c.Dropped,
		}
	}
	return all, nil
}
