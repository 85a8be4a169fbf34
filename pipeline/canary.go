package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// canaryName is the canary's channel: no channel can be called so.
const canaryName = "~canary"

// CanaryChannel is where the canary goes: a channel beside the others, with limits that it never reaches.
func CanaryChannel(to notifier.Sender, interval time.Duration) Channel {
	windows := []ratelimit.Window{{Limit: canaryLimit, Per: time.Hour}}
	return Channel{
		Name: canaryName, Lane: true, Sender: to, TTL: interval, Pace: store.Pace{Every: time.Second, Burst: 1},
		Tiers: []ratelimit.LevelSpec{{Name: ratelimit.LevelChannel, Windows: windows}, {Name: ratelimit.LevelCategory, Windows: windows}},
	}
}

// canaryLimit is one a second.
const canaryLimit = 3600

// CanaryOptions configure a Canary.
type CanaryOptions struct {
	Intake *Intake // that knows [CanaryChannel]
	Status *Status // too
	// Boxes take what the operators are told: the first that can be reached.
	Boxes []store.Outbox
	// Told is told that there is something for the operators.
	Told func(channel string)
	// Interval is how often a canary is sent, over all replicas.
	Interval time.Duration
	// Within is how long it may take to reach Slack.
	Within  time.Duration
	Metrics *CanaryMetrics
	Logger  *slog.Logger
	// Now is a clock. Default time.Now.
	Now func() time.Time
}

// Canary sends a message the whole way to Slack at an interval, and tells the operators when it does not arrive: nothing
// else notices that nothing comes any more. All replicas send; the first of each interval is admitted, the others are its
// duplicates. All replicas look whether it arrives, and what they tell is told once.
type Canary struct {
	opts CanaryOptions

	sent      time.Time // the interval of the last one
	known     bool      // how the ledger stood before
	delivered int64
	lost      int64
	missing   string // the interval of the first that is missing; "" = all is well
}

// NewCanary makes a Canary; Run runs it.
func NewCanary(opts CanaryOptions) *Canary {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Canary{opts: opts}
}

// Looks per interval, and their bounds.
const (
	canaryLooks   = 10
	canaryShortly = 100 * time.Millisecond
	canarySeldom  = 5 * time.Second
)

// Run sends canaries and looks after them until ctx ends.
func (c *Canary) Run(ctx context.Context) {
	ticker := time.NewTicker(min(canarySeldom, max(canaryShortly, min(c.opts.Interval, c.opts.Within)/canaryLooks)))
	defer ticker.Stop()
	for {
		c.step(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// step sends a canary where one is due, and looks how the earlier ones fare.
func (c *Canary) step(ctx context.Context) {
	now := c.opts.Now()
	slot := now.Truncate(c.opts.Interval)
	if !slot.Equal(c.sent) {
		if why := c.send(ctx, slot); why != "" {
			c.alarm(ctx, slot, why)
			return // it is tried again
		}
		c.sent = slot
	}
	status, err := c.opts.Status.Channel(ctx, canaryName)
	if err != nil {
		c.alarm(ctx, slot, "how it fares cannot be read: "+err.Error())
		return
	}
	delivered, lost := status.Ledger.Delivered, status.Ledger.Failed+status.Ledger.Expired
	arrived, gone := c.known && delivered > c.delivered, c.known && lost > c.lost
	c.known, c.delivered, c.lost = true, delivered, lost
	switch {
	case gone:
		c.alarm(ctx, slot, "Slack refused it, or it became too old")
	case status.Oldest >= c.opts.Within:
		c.alarm(ctx, now.Add(-status.Oldest).Truncate(c.opts.Interval), fmt.Sprintf("it waits for Slack since %s", status.Oldest.Round(time.Second)))
	case arrived:
		c.opts.Metrics.arrived.Set(float64(now.Unix()))
		c.well(ctx)
	}
}

// send sends the canary of an interval. It answers why that did not go.
func (c *Canary) send(ctx context.Context, slot time.Time) string {
	receipt, err := c.opts.Intake.Take(ctx, Arrival{Channel: canaryName, Sender: canarySender, Events: []events.Event{{
		ID: "canary:" + slot.UTC().Format(time.RFC3339), Source: canarySender, Category: canarySender, Severity: events.Info,
		Title: "Canary", Text: fmt.Sprintf("The relay reaches Slack. The next one comes in %s.", c.opts.Interval),
	}}})
	switch {
	case err != nil:
		return "it could not be queued: " + err.Error()
	case receipt.Admitted+receipt.Duplicate == 0:
		return "the limits refused it"
	default:
		return ""
	}
}

const canarySender = "canary"

// alarm tells the operators, once.
func (c *Canary) alarm(ctx context.Context, slot time.Time, why string) {
	if ctx.Err() != nil || c.missing != "" {
		return
	}
	c.missing = slot.UTC().Format(time.RFC3339)
	c.opts.Metrics.missing.Set(1)
	c.tell(ctx, "canary:missing:"+c.missing, "The canary of "+c.missing+" did not arrive: messages may not reach Slack", why)
}

func (c *Canary) well(ctx context.Context) {
	if c.missing == "" {
		return
	}
	c.tell(ctx, "canary:again:"+c.missing, "The canary arrives again", "It was missing since "+c.missing)
	c.missing = ""
	c.opts.Metrics.missing.Set(0)
}

func (c *Canary) tell(ctx context.Context, id, text, detail string) {
	c.opts.Logger.WarnContext(ctx, "canary", "notice", text, "detail", detail)
	var err error
	for _, box := range c.opts.Boxes {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), canaryTimeout)
		err = putNotice(bounded, box, notifier.Notice{ID: id, Channel: canaryName, Text: text, Detail: detail})
		cancel()
		if err == nil {
			c.opts.Told(operationsName)
			return
		}
	}
	c.opts.Logger.ErrorContext(ctx, "the operators could not be told", "notice", text, "error", err)
}

const canaryTimeout = 2 * time.Second

// CanaryMetrics say how the canary fares.
type CanaryMetrics struct {
	arrived, missing prometheus.Gauge
}

// NewCanaryMetrics registers the metrics.
func NewCanaryMetrics(registerer prometheus.Registerer) *CanaryMetrics {
	m := &CanaryMetrics{
		arrived: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "relay_canary_last_arrival_timestamp_seconds", Help: "When this replica last saw a canary reach Slack; take the maximum.",
		}),
		missing: prometheus.NewGauge(prometheus.GaugeOpts{Name: "relay_canary_missing", Help: "1 while the canary does not arrive."}),
	}
	registerer.MustRegister(m.arrived, m.missing)
	return m
}
