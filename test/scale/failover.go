package main

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A replica is killed with work in this many channels, of so many messages each.
const (
	failoverChannels = 1000
	failoverMessages = 3
)

// failoverWithin bounds how long all messages may take after a replica was killed.
const failoverWithin = 3 * time.Minute

// measureFailover kills a replica that is delivering, and measures until all that it had admitted was delivered. A single
// replica is started again at once.
func measureFailover(ctx context.Context, s *system, f *figures) error {
	channels := min(failoverChannels, f.channels)
	victim := s.relays[0]
	s.slack.delay.Store(int64(s.lease * 2 / 5)) // a message of each channel is in flight when the replica is killed
	err := s.queueWork(ctx, victim, channels)
	if errors.Is(err, errRefused) {
		f.add("failover: all delivered", "s", timeout)
		return nil
	}
	if err != nil {
		return err
	}
	queued := channels*failoverMessages - len(s.workArrived())
	began := time.Now()
	victim.kill()
	s.slack.delay.Store(0)
	s.relays = s.relays[1:]
	if len(s.relays) == 0 {
		if err := s.startRelay(ctx); err != nil {
			return err
		}
	}
	took := map[string]float64{}
	for len(took) < 2 && time.Since(began) < failoverWithin {
		missing := channels*failoverMessages - distinct(s.workArrived())
		if _, known := took["99 %"]; !known && missing <= channels*failoverMessages/100 {
			took["99 %"] = time.Since(began).Seconds()
		}
		if missing == 0 {
			took["all"] = time.Since(began).Seconds()
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	reportFailover(f, s.workArrived(), channels*failoverMessages, queued, took)
	return nil
}

// reportFailover adds the figures of a failover: of so many messages, some were queued when the replica was killed. took is how
// many seconds a share of them took.
func reportFailover(f *figures, work []message, messages, queued int, took map[string]float64) {
	f.add("failover: messages queued", "1", float64(queued))
	for _, share := range []string{"99 %", "all"} {
		seconds, ok := took[share]
		if !ok {
			seconds = timeout
		}
		f.add("failover: "+share+" delivered", "s", seconds)
	}
	f.add("failover: lost", "1", float64(messages-distinct(work)))
	f.add("failover: posted twice", "1", float64(len(work)-distinct(work)))
	f.add("failover: out of order", "1", float64(disordered(work)))
}

// queueWork posts the messages of each channel with one webhook, and waits until a message of each is in flight.
func (s *system) queueWork(ctx context.Context, to *relay, channels int) error {
	before := s.slack.posts.Load()
	if err := postWork(ctx, to, channels); err != nil {
		return err
	}
	for began := time.Now(); s.slack.posts.Load()-before < int64(channels) && time.Since(began) < startWithin; {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func postWork(ctx context.Context, to *relay, channels int) error {
	posting, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range 16 {
		posting.Go(func() error {
			for i := int(next.Add(1)) - 1; i < channels; i = int(next.Add(1)) - 1 {
				if err := postUntilAccepted(ctx, to, channelName(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return posting.Wait()
}

// postUntilAccepted posts the messages of a channel. It repeats a webhook that is refused, as senders do.
func postUntilAccepted(ctx context.Context, to *relay, channel string) error {
	body := []byte(`{"events":[{"id":"1","title":"work 1"},{"id":"2","title":"work 2"},{"id":"3","title":"work 3"}]}`)
	for began := time.Now(); ; {
		_, err := to.post(ctx, channel, body)
		if !errors.Is(err, errRefused) || time.Since(began) > startWithin {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// message is one of those that postWork posts.
type message struct {
	channel string
	number  string
}

var workText = regexp.MustCompile(`work (\d)`)

// workArrived returns the messages of postWork that Slack has shown, in their order.
func (s *system) workArrived() []message {
	var all []message
	for _, post := range s.slack.Posts() {
		found := workText.FindStringSubmatch(cmp.Or(post.Text, post.Form.Get("attachments")))
		if found != nil {
			all = append(all, message{post.Channel, found[1]})
		}
	}
	return all
}

func distinct(all []message) int {
	seen := map[message]bool{}
	for _, m := range all {
		seen[m] = true
	}
	return len(seen)
}

// disordered counts the messages that were first shown after a later one of their channel.
func disordered(all []message) (n int) {
	seen := map[message]bool{}
	latest := map[string]string{}
	for _, m := range all {
		if !seen[m] && m.number < latest[m.channel] {
			n++
		}
		seen[m] = true
		latest[m.channel] = max(latest[m.channel], m.number)
	}
	return n
}
