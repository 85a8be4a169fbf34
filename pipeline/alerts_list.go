package pipeline

import (
	"context"
	"fmt"
	"time"

	"slackrelay/problem"
	"slackrelay/store"
)

// listedAlerts is how many documents one call lists.
const listedAlerts = 500

// List returns the store's time, and the alerts of a channel that fire, in the order of their fingerprints.
func (a *Alerts) List(ctx context.Context, channel string) (now time.Time, firing []problem.Alert, err error) {
	ch, ok := a.opts.Intake.channels[channel]
	if !ok {
		return now, nil, fmt.Errorf("channel %q: %w", channel, ErrUnknownChannel)
	}
	for after := ""; ; {
		at, all, err := a.page(ctx, ch.Scope(), after)
		if err != nil {
			return now, nil, fmt.Errorf("list the alerts of channel %s: %w", channel, err)
		}
		now = time.UnixMicro(at)
		if len(all) == 0 {
			return now, firing, nil
		}
		for _, document := range all {
			if alert := decodeAlert(document); alert != nil && alert.Fires(now) {
				firing = append(firing, *alert)
			}
		}
		after = all[len(all)-1].Name
	}
}

func (a *Alerts) page(ctx context.Context, channel store.Channel, after string) (now int64, all []store.Problem, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
	defer cancel()
	return a.opts.Documents.ListProblems(ctx, channel, alertPrefix, after, listedAlerts)
}
