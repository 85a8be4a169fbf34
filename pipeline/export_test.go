package pipeline

import (
	"context"

	"slackrelay/notifier"
)

// Looks returns what [Destinations.Run] does each minute in one generation.
func (d *Destinations) Looks() func(ctx context.Context, targets ...Target) {
	run := newCheckRun(d)
	return func(ctx context.Context, targets ...Target) {
		byToken := map[string][]Target{}
		for _, target := range targets {
			byToken[target.Sender.Workspace()] = append(byToken[target.Sender.Workspace()], target)
		}
		run.look(ctx, byToken)
	}
}

// FaultOf returns the fault of a destination as all replicas know it now; nil = it has none.
func (d *Destinations) FaultOf(ctx context.Context, target Target) *DestinationFault {
	if err := d.read(ctx); err != nil {
		panic(err)
	}
	return d.known().of(target.Sender)
}

// Refuse is what a sender does when Slack refuses a message to a destination.
func (d *Destinations) Refuse(ctx context.Context, target Target, code notifier.Reason) {
	d.refused(ctx, target.Name, target.Sender, &notifier.Error{Action: notifier.GiveUp, Reason: code})
}
