package replica

import (
	"context"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Statuses reads the state of channels, with the counts of this process merged in. Of channels whose store is unavailable, it
// returns what this process alone counted since.
func (l *Limiter) Statuses(ctx context.Context, queries []store.StatusQuery) ([]store.ChannelStatus, error) {
	all := make([]store.ChannelStatus, len(queries))
	var stored, local []int // indexes of queries
	for i := range queries {
		ch := l.usedChannel(queries[i].Channel)
		switch {
		case ch == nil:
			stored = append(stored, i)
		case ch.outage.down():
			local = append(local, i)
		default:
			if err := ch.mergeCounts(ctx); err != nil {
				return nil, err
			}
			stored = append(stored, i)
		}
	}
	if err := l.readStatuses(ctx, l.opts.Fallback, queries, local, all); err != nil {
		return nil, err
	}
	for _, i := range local {
		all[i].Warming = 0 // it is not known
	}
	return all, l.readStatuses(ctx, l.store, queries, stored, all)
}

// readStatuses sets the statuses at the indexes.
func (l *Limiter) readStatuses(
	ctx context.Context, from Decider, queries []store.StatusQuery, indexes []int, all []store.ChannelStatus,
) error {
	if len(indexes) == 0 {
		return nil
	}
	asked := make([]store.StatusQuery, len(indexes))
	for i, index := range indexes {
		asked[i] = queries[index]
		asked[i].Level = l.peers.widenLevel(asked[i].Level)
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	statuses, err := from.Statuses(ctx, asked)
	if err != nil {
		return err
	}
	for i, index := range indexes {
		all[index] = statuses[i]
	}
	return nil
}

// widenLevel adds the longer windows of other replicas to a level.
func (p *peerWindows) widenLevel(level ratelimit.Level) ratelimit.Level {
	if longer := p.longer.Load(); longer != nil {
		return widenLevels(*longer, []ratelimit.Level{level})[0]
	}
	return level
}

// usedChannel returns what this process knows of a channel; nil = it has not used it.
func (l *Limiter) usedChannel(scope store.Channel) *channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.channels[scope]
}
