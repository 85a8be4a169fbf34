package pipeline

import (
	"context"
	"slices"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// addSteps adds to a digest what was received, sent and held back in the last interval, and what was sent of each category. Where
// the counts cannot be read, the digest says the rest.
func (d *delivery) addSteps(ctx context.Context, content *notifier.Digest) {
	if d.opts.Counts == nil || content.Last.IsZero() {
		return
	}
	steps := stepsUntil(content.Last, d.channel.Digest.Interval)
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	_, minutes, err := d.opts.Counts.Minutes(ctx, d.key, max(time.Minute, time.Since(steps.From)))
	if err != nil {
		d.log.DebugContext(ctx, "counts unavailable: the digest has no chart", "error", err)
		return
	}
	posted := map[string]int64{}
	for _, minute := range minutes {
		i := int(minute.At.Sub(steps.From) / steps.Step)
		if minute.At.Before(steps.From) || i >= len(steps.Received) {
			continue
		}
		steps.Received[i] += minute.Admitted + minute.Dropped
		steps.Sent[i] += minute.Admitted
		steps.HeldBack[i] += minute.Dropped
		posted[minute.Category] += minute.Admitted
	}
	content.Steps = &steps
	for i := range content.Categories {
		content.Categories[i].Posted = posted[content.Categories[i].Name]
	}
}

// chartSteps are the steps that a chart may have, so that their beginnings are round times.
var chartSteps = []time.Duration{
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour,
}

// stepsUntil returns empty steps of an interval that ends with the step of last: as many as a chart has room for, and not less than
// ten minutes or more than a day.
func stepsUntil(last time.Time, interval time.Duration) notifier.DigestSteps {
	interval = min(max(interval, 10*time.Minute), store.MaxLookback-2*time.Hour)
	step := chartSteps[len(chartSteps)-1]
	for _, one := range slices.Backward(chartSteps) {
		if interval <= time.Duration(notifier.MaxChartPoints-1)*one {
			step = one
		}
	}
	n := int((interval+step-1)/step) + 1
	end := last.UTC().Truncate(step)
	return notifier.DigestSteps{
		From: end.Add(-time.Duration(n-1) * step), Step: step,
		Received: make([]int64, n), Sent: make([]int64, n), HeldBack: make([]int64, n),
	}
}
