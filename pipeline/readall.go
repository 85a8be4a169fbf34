package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// readAtOnce is how many channels are read with one call of the limiter.
const readAtOnce = 200

// readAll reads every channel except lanes, without their categories. before is the last reading; nil = there is none.
func (s *StatusReader) readAll(ctx context.Context, before *Reading) (*Reading, error) {
	all := s.shown()
	now := &Reading{Channels: make([]ChannelStatus, 0, len(all)), index: make(map[string]int, len(all))}
	around := s.surroundings(ctx)
	for some := range slices.Chunk(all, readAtOnce) {
		statuses, err := s.readSome(ctx, some, around)
		if err != nil {
			return nil, err
		}
		now.Channels = append(now.Channels, statuses...)
	}
	for _, other := range s.others {
		if fault := around.faults.of(other.sender); fault != nil {
			now.Others = append(now.Others, OtherFault{Name: other.name, DestinationFault: *fault})
		}
	}
	at := time.Now()
	for i := range now.Channels {
		now.index[now.Channels[i].Channel] = i
		if earlier, known := before.place(now.Channels[i].Channel); known {
			now.Channels[i].compare(&before.Channels[earlier], at)
		}
	}
	return now, nil
}

// surroundings are what the state of a channel depends on besides its own, read once for all channels.
type surroundings struct {
	away        map[string]replica.Policy // by channel
	credentials map[string]pause          // by workspace
	faults      destinationFaults
}

// pause is for how long something is paused, and why.
type pause struct {
	wait   time.Duration
	reason string
}

func (s *StatusReader) surroundings(ctx context.Context) *surroundings {
	around := &surroundings{away: map[string]replica.Policy{}, credentials: map[string]pause{}}
	for _, away := range s.Health().Away {
		around.away[away.Channel] = away.Policy
	}
	if len(around.away) == 0 {
		around.faults = s.destinations.current(ctx)
	}
	return around
}

// readSome reads channels without their categories.
func (s *StatusReader) readSome(ctx context.Context, channels []Channel, around *surroundings) ([]ChannelStatus, error) {
	queries := make([]store.StatusQuery, len(channels))
	for i := range channels {
		ch := &channels[i]
		queries[i] = store.StatusQuery{
			Channel: ch.Scope(), Level: ch.channelLevel(), Longest: ratelimit.Longest(ch.Tiers[0].Windows),
		}
	}
	read, err := s.limiter.Statuses(ctx, queries)
	if err != nil {
		return nil, fmt.Errorf("read channels: %w", err)
	}
	all := make([]ChannelStatus, len(channels))
	for i := range channels {
		all[i] = statusOf(channels[i].Name, &read[i])
		all[i].State = s.state(ctx, &channels[i], read[i].Report, around)
	}
	return all, nil
}

func statusOf(channel string, read *store.ChannelStatus) ChannelStatus {
	status := ChannelStatus{
		Channel: channel, Ledger: read.Ledger, Held: read.Held, Oldest: read.Oldest, OldestSeconds: read.Oldest.Seconds(), Active: read.Active,
		Levels: make([]LevelStatus, len(read.Usage)),
	}
	for i, u := range read.Usage {
		status.Levels[i] = LevelStatus{
			Level: u.Level, Limit: u.Window.Limit, Per: u.Window.Per.Seconds(), Used: u.Used, RetryAfter: secondsOf(u.RetryAfter),
			Warming: read.Warming.Seconds(),
		}
	}
	return status
}

// state returns whether the channel sends, and the policy that decides while Redis is unavailable.
func (s *StatusReader) state(ctx context.Context, ch *Channel, report store.Report, around *surroundings) ChannelState {
	state := ChannelState{Fallback: around.away[ch.Name], Fault: around.faults.of(ch.Sender)}
	paused := pause{report.PausedFor, report.PauseReason}
	if paused.wait == 0 && len(around.away) == 0 {
		paused = s.credentialPause(ctx, ch, around)
		if shared, ok := ch.Sender.(notifier.Workspace); ok && paused.wait > 0 && state.Fault == nil {
			fault := tokenFault(shared.Workspace(), paused.reason, "")
			state.Fault = &fault
		}
	}
	if paused.wait > 0 {
		until := time.Now().Add(paused.wait).UTC()
		state.PausedUntil = &until
		state.Reason = paused.reason
	}
	return state
}

// credentialPause returns for how long the channel's credential is paused, because Slack refused it, and why.
func (s *StatusReader) credentialPause(ctx context.Context, ch *Channel, around *surroundings) pause {
	shared, ok := ch.Sender.(notifier.Workspace)
	if !ok || s.credentials == nil {
		return pause{}
	}
	workspace := shared.Workspace()
	known, ok := around.credentials[workspace]
	if !ok {
		wait, reason, err := s.credentials.CredentialPaused(ctx, workspace)
		if err == nil { // else the channel was read before: the next reader finds out whether Redis is unavailable
			known = pause{wait, reason}
		}
		around.credentials[workspace] = known
	}
	return known
}
