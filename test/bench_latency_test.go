package test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"slackrelay/configs"
	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
)

// BenchmarkLatency measures the time from posting a webhook to the call of Slack on an idle channel, and that of posting a
// message to the same Slack directly, in turns over loopback. x_p50 and x_p99 are the ratios.
func BenchmarkLatency(b *testing.B) {
	slack, err := fakeslack.Start()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { slack.Close() })
	arrived := make(chan time.Time, 100)
	slack.Break(func(string, string) (fakeslack.Reply, bool) {
		arrived <- time.Now()
		return fakeslack.Reply{}, false
	})
	cfg := configs.Default()
	cfg.RedisURL, cfg.SlackToken, cfg.SlackAPIURL = configs.Secret(redistest.Start(b).URL), "xoxb-1", slack.APIURL()
	ch := &cfg.Channels[0]
	ch.SlackChannel, ch.GlobalLimit, ch.CategoryLimit, ch.Pace, ch.Digest = "C0ALERTS", 1_000_000, 1_000_000, 0, false
	relayURL, _ := benchRelay(b, cfg, 1)
	for range 11 { // of the warm-up
		<-arrived
	}
	direct := notifier.NewBot(notifier.BotOptions{Token: "xoxb-1", Channel: "C0DIRECT", APIURL: slack.APIURL()})

	var relayed, posted []time.Duration
	for n := 0; b.Loop(); n++ {
		begin := time.Now()
		if _, err := direct.Send(b.Context(), notifier.Message{Text: "direct"}); err != nil {
			b.Fatal(err)
		}
		posted = append(posted, (<-arrived).Sub(begin))
		begin = time.Now()
		response, err := benchClient.Post(relayURL, "application/json", bytes.NewReader(fmt.Appendf(nil, `{"title":"%d"}`, n)))
		if err != nil {
			b.Fatal(err)
		}
		relayed = append(relayed, (<-arrived).Sub(begin))
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		<-time.After(time.Millisecond) // acknowledged, and idle again
	}
	at := func(all []time.Duration, share float64) float64 {
		slices.Sort(all)
		return float64(all[int(float64(len(all)-1)*share)].Microseconds())
	}
	b.ReportMetric(at(posted, .5), "direct_p50_us")
	b.ReportMetric(at(relayed, .5), "relay_p50_us")
	b.ReportMetric(at(relayed, .5)/at(posted, .5), "x_p50")
	b.ReportMetric(at(relayed, .99)/at(posted, .99), "x_p99")
}
