package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"slackrelay/notifier"
	"slackrelay/test/bare"
)

// The load is posted by this many senders, over this many channels where their limits are open.
const (
	loadSenders  = 64
	loadChannels = 100
)

// The contenders take turns, and the median counts, because other work of the machine affects all of them.
const turns = 5

// closedChannel is a channel whose limits are reached at once.
const closedChannel = "  - {name: closed, slack_channel: CCLOSED, global_limit: 100, category_limit: 10, window: 1h, pace: 0s, " +
	"digest: false}\n"

// measureLoad measures how fast one relay is.
func (b *bench) measureLoad(ctx context.Context) ([]figure, error) {
	fmt.Fprintf(b.progress, "load: start\n")
	s, err := b.startSystem(ctx, openChannels(loadChannels)+closedChannel, 1)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f := &figures{size: size{loadChannels, 1}}
	steps := []struct {
		name string
		do   func(ctx context.Context, s *system, f *figures) error
	}{
		{"latency", measureLatency},
		{"closed limits", b.measureClosed},
		{"open limits", b.measureOpen},
	}
	for _, step := range steps {
		fmt.Fprintf(b.progress, "load: %s\n", step.name)
		if err := step.do(ctx, s, f); err != nil {
			return f.all, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return f.all, nil
}

// latencyRounds is how often the way to Slack is measured.
const latencyRounds = 100

// measureLatency measures from the webhook to Slack in an idle channel, against a message that is posted to Slack directly.
func measureLatency(ctx context.Context, s *system, f *figures) error {
	const channel = "CDIRECT"
	direct := notifier.NewBot(notifier.BotOptions{Token: slackToken, Channel: channel, APIURL: s.slack.APIURL()})
	var relayed, posted []float64
	for range latencyRounds {
		arrival := s.slack.expect(channel)
		began := time.Now()
		if _, err := direct.Send(ctx, notifier.Message{Text: "Disk full"}); err != nil {
			return fmt.Errorf("post directly: %w", err)
		}
		posted = append(posted, milliseconds((<-arrival).Sub(began)))
		took, err := s.deliver(ctx, s.relays[0], 0)
		if err != nil {
			return err
		}
		relayed = append(relayed, took)
		if err := sleep(ctx, 20*time.Millisecond); err != nil { // acknowledged, and idle again
			return err
		}
	}
	f.add("webhook to Slack, median", "ms", median(relayed))
	f.add("posted directly, median", "ms", median(posted))
	f.add("webhook to Slack against directly", "x", median(relayed)/median(posted))
	return nil
}

// measureClosed measures webhooks whose events all exceed a limit, against a bare handler.
func (b *bench) measureClosed(ctx context.Context, s *system, f *figures) error {
	event, alerts := bare.JSON(bare.OneEvent()), bare.JSON(bare.ManyAlerts(20))
	eventReply, err := closeLimit(ctx, s.relays[0], "closed", event)
	if err != nil {
		return err
	}
	alertsReply, err := closeLimit(ctx, s.relays[0], "closed/alertmanager", alerts)
	if err != nil {
		return err
	}
	handler, url, err := b.startBare(ctx, len(eventReply), len(alertsReply))
	if err != nil {
		return err
	}
	defer handler.kill()
	relay := s.relays[0]
	for _, of := range []struct {
		name        string
		relay, bare contender
		body        []byte
	}{
		{"closed, 1 event", contender{relay.process, relay.public + "/hooks/closed"}, contender{handler, url + "/event"}, event},
		{"closed, 20 alerts", contender{relay.process, relay.public + "/hooks/closed/alertmanager"}, contender{handler, url + "/alerts"}, alerts},
	} {
		if err := b.compete(ctx, f, of.name, of.relay, of.bare, of.body); err != nil {
			return err
		}
	}
	return nil
}

// closeLimit posts a webhook until none of its events is admitted, and returns the receipt.
func closeLimit(ctx context.Context, r *relay, hook string, body []byte) ([]byte, error) {
	for range 100 {
		receipt, err := r.post(ctx, hook, body)
		if err != nil || bytes.Contains(receipt, []byte(`"admitted":0`)) {
			return receipt, err
		}
	}
	return nil, fmt.Errorf("the limits of %s do not close", hook)
}

// contender is a program that answers webhooks.
type contender struct {
	*process

	url string
}

// hammer returns how many webhooks a second the program answers, and the microseconds of processor time that it takes for each.
func (c contender) hammer(ctx context.Context, body []byte, during time.Duration) (rate, each float64, err error) {
	before, err := c.cpu()
	if err != nil {
		return 0, 0, err
	}
	rate, n, err := hammer(ctx, []string{c.url}, body, during)
	if err != nil {
		return 0, 0, err
	}
	after, err := c.cpu()
	return rate, microseconds(after-before) / float64(n), err
}

// compete reports how many webhooks a second the relay and the bare handler answer, and the processor time of each. The processor
// time hardly depends on what else the machine does.
func (b *bench) compete(ctx context.Context, f *figures, name string, relay, rival contender, body []byte) error {
	var ours, theirs, cost, least []float64
	for turn := range turns + 1 {
		relayed, each, err := relay.hammer(ctx, body, b.load/turns)
		if err != nil {
			return err
		}
		handled, rivals, err := rival.hammer(ctx, body, b.load/turns)
		if err != nil {
			return err
		}
		if turn > 0 { // the first one warms up
			ours, theirs = append(ours, relayed), append(theirs, handled)
			cost, least = append(cost, each), append(least, rivals)
		}
	}
	f.add(name, "1/s", median(ours))
	f.add(name+", bare handler", "1/s", median(theirs))
	f.add(name+", against it", "x", median(ours)/median(theirs))
	f.add(name+": processor time", "µs", median(cost))
	f.add(name+", bare handler: processor time", "µs", median(least))
	return nil
}

// measureOpen measures how many webhooks are admitted, and how many messages delivered, while senders post as fast as they can
// to channels whose limits are never reached; and then how fast what is left is delivered.
func (b *bench) measureOpen(ctx context.Context, s *system, f *figures) error {
	body := bare.JSON(bare.OneEvent())
	hooks := make([]string, loadChannels)
	for i := range hooks {
		hooks[i] = s.relays[0].public + "/hooks/" + channelName(i)
	}
	used, err := s.usage(ctx)
	if err != nil {
		return err
	}
	before := s.slack.posts.Load()
	began := time.Now()
	rate, admitted, err := hammer(ctx, hooks, body, b.load)
	if err != nil {
		return err
	}
	delivered := s.slack.posts.Load() - before
	f.add("open limits: admitted while sending", "1/s", rate)
	f.add("open limits: delivered while sending", "1/s", float64(delivered)/time.Since(began).Seconds())
	began = time.Now()
	draining := timeout
	for time.Since(began) < drainWithin {
		if s.slack.posts.Load()-before >= admitted {
			draining = float64(admitted-delivered) / time.Since(began).Seconds()
			break
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	f.add("open limits: delivered afterwards", "1/s", draining)
	return s.addUsed(ctx, f, used, float64(admitted))
}

// addUsed adds the processor time that each of n messages took since before. Unlike the rates, it hardly depends on what else the
// machine does.
func (s *system) addUsed(ctx context.Context, f *figures, before usage, n float64) error {
	after, err := s.usage(ctx)
	if err != nil {
		return err
	}
	f.add("open limits: processor time of the relay, each", "µs", microseconds(after.relays-before.relays)/n)
	f.add("open limits: processor time of Redis, each", "µs", microseconds(after.redis-before.redis)/n)
	f.add("open limits: script calls, each", "1", float64(after.calls-before.calls)/n)
	return nil
}

// drainWithin bounds how long the delivery of what was admitted may take.
const drainWithin = 3 * time.Minute
