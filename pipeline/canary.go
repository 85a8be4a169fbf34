package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// canaryName is the name of the canary's channel. No configured channel has a "~" in its name.
const canaryName = "~canary"

// CanaryChannel returns the channel of the canary. Its limits are never reached.
func CanaryChannel(to notifier.Sender, interval time.Duration) Channel {
	windows := []ratelimit.Window{{Limit: canaryLimit, Per: time.Hour}}
	return Channel{
		Name: canaryName, Sender: to, TTL: interval, Pace: store.Pace{Every: time.Second, Burst: 1},
		Tiers: []ratelimit.LevelSpec{{Name: ratelimit.LevelChannel, Windows: windows}, {Name: ratelimit.LevelCategory, Windows: windows}},
	}
}

// canaryLimit is one event a second.
const canaryLimit = 3600

// CanaryOptions configure a [Canary]. All fields but Logger and Now are needed:
//
//	channels = append(channels, pipeline.CanaryChannel(sender, 5*time.Minute))
//	canary := pipeline.NewCanary(pipeline.CanaryOptions{
//		Intake: intake, Status: status, Outboxes: []pipeline.NoticeQueue{queue}, Wake: courier.Wake,
//		Interval: 5 * time.Minute, Within: time.Minute, Metrics: metrics,
//	})
type CanaryOptions struct {
	Intake *Intake       // of channels that include [CanaryChannel]
	Status *StatusReader // of the same channels
	// Outboxes queue notices to the operators: the first that is available.
	Outboxes []NoticeQueue
	// Wake is called with the name of a channel for which a notice was queued.
	Wake func(channel string)
	// Interval is the time between two canaries, over all replicas.
	Interval time.Duration
	// Within is the longest time that a canary may take to reach Slack.
	Within  time.Duration
	Metrics *CanaryMetrics
	Logger  *slog.Logger // default: nothing is logged
	// Now is the clock of the intervals. Default time.Now.
	Now func() time.Time
}

// Canary sends a message to Slack at an interval, through the whole relay, and notifies the operators when it does not
// arrive: nothing else notices that messages have stopped. All replicas send; the first canary of an interval is admitted,
// the others are duplicates of it. All replicas check whether it arrives, and the operators are notified once.
type Canary struct {
	opts CanaryOptions

	sent    time.Time     // the start of the interval of the last canary
	last    *store.Ledger // as it was read last; nil = it was not
	missing string        // the interval of the first canary that is missing; "" = none is
}

// NewCanary returns a Canary; Run runs it.
func NewCanary(opts CanaryOptions) *Canary {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Canary{opts: opts}
}

// The canary is checked 10 times in an interval, within these bounds.
const (
	canaryChecks       = 10
	canaryCheckAtMost  = 5 * time.Second
	canaryCheckAtLeast = 100 * time.Millisecond
)

// Run sends and checks canaries until ctx ends.
func (c *Canary) Run(ctx context.Context) {
	ticker := time.NewTicker(min(canaryCheckAtMost, max(canaryCheckAtLeast, min(c.opts.Interval, c.opts.Within)/canaryChecks)))
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

// step sends a canary where one is due, and checks the earlier ones.
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
		c.alarm(ctx, slot, "its state cannot be read: "+err.Error())
		return
	}
	ledger := &status.Ledger
	last := cmp.Or(c.last, ledger)
	arrived := ledger.Delivered > last.Delivered
	failed := ledger.Failed+ledger.Expired > last.Failed+last.Expired
	c.last = ledger
	switch {
	case failed:
		c.alarm(ctx, slot, "Slack refused it, or it expired")
	case status.Oldest >= c.opts.Within:
		sent := now.Add(-status.Oldest)
		c.alarm(ctx, sent.Truncate(c.opts.Interval), fmt.Sprintf("it has waited for Slack for %s", status.Oldest.Round(time.Second)))
	case arrived:
		c.opts.Metrics.arrived.Set(float64(now.Unix()))
		c.clear(ctx)
	}
}

// send sends the canary of an interval, and returns why it could not; "" = it was sent.
func (c *Canary) send(ctx context.Context, slot time.Time) string {
	canary := events.Event{
		ID: "canary:" + slot.UTC().Format(time.RFC3339), Source: canarySender, Category: canarySender, Severity: events.Info,
		Title: "Canary", Text: fmt.Sprintf("The relay reaches Slack. The next one comes in %s.", c.opts.Interval),
	}
	receipt, err := c.opts.Intake.Admit(ctx, Arrival{Channel: canaryName, Sender: canarySender, Events: []events.Event{canary}})
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

// alarm notifies the operators that a canary is missing, once until it arrives again.
func (c *Canary) alarm(ctx context.Context, slot time.Time, why string) {
	if ctx.Err() != nil || c.missing != "" {
		return
	}
	c.missing = slot.UTC().Format(time.RFC3339)
	c.opts.Metrics.missing.Set(1)
	c.notify(ctx, "canary:missing:"+c.missing, "The canary of "+c.missing+" did not arrive: messages may not reach Slack", why)
}

// clear notifies the operators that the canary arrives again.
func (c *Canary) clear(ctx context.Context) {
	if c.missing == "" {
		return
	}
	c.notify(ctx, "canary:again:"+c.missing, "The canary arrives again", "It had been missing since "+c.missing)
	c.missing = ""
	c.opts.Metrics.missing.Set(0)
}

// notify notifies the operators, once for each id.
func (c *Canary) notify(ctx context.Context, id, text, detail string) {
	c.opts.Logger.WarnContext(ctx, "canary", "notice", text, "detail", detail)
	var err error
	for _, queue := range c.opts.Outboxes {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), canaryTimeout)
		err = putNotice(bounded, queue, notifier.Notice{ID: id, Channel: canaryName, Text: text, Detail: detail})
		cancel()
		if err == nil {
			c.opts.Wake(operationsName)
			return
		}
	}
	c.opts.Logger.ErrorContext(ctx, "operators could not be notified", "notice", text, "error", err)
}

const canaryTimeout = 2 * time.Second

// CanaryMetrics are gauges of the canary.
type CanaryMetrics struct {
	arrived, missing prometheus.Gauge
}

// NewCanaryMetrics registers the gauges.
func NewCanaryMetrics(registerer prometheus.Registerer) *CanaryMetrics {
	register := promauto.With(registerer)
	return &CanaryMetrics{
		arrived: register.NewGauge(prometheus.GaugeOpts{
			Name: "relay_canary_last_arrival_timestamp_seconds", Help: "When this replica last saw a canary reach Slack; take the maximum.",
		}),
		missing: register.NewGauge(prometheus.GaugeOpts{Name: "relay_canary_missing", Help: "1 while the canary does not arrive."}),
	}
}
