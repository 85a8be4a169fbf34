package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/lua/redistest"
)

// seedScript is the yardstick: the plain way to throttle by two sorted sets, one call an event.
const seedScript = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, now - ARGV[3])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now, now)
redis.call('ZADD', KEYS[2], now, now)
return 1`

// BenchmarkFullCategory posts events of a category that is full, over loopback: to a bare handler, to one that
// asks the plain script for each event, and to the relay. The metric x_bare is the rate as a ratio to the bare
// handler's in the same run.
func BenchmarkFullCategory(b *testing.B) {
	for _, events := range []int{1, 20} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			url := redistest.Start(b).URL
			opts, err := redis.ParseURL(url)
			if err != nil {
				b.Fatal(err)
			}
			client := redis.NewClient(opts)
			b.Cleanup(func() { client.Close() })
			relayURL, reply := benchRelay(b, url, events)
			var bare float64
			for _, c := range []struct{ name, url string }{
				{"a-bare-handler", benchHandler(b, reply, func(context.Context, int) {})},
				{"b-one-script-an-event", benchHandler(b, reply, askSeedScript(client))},
				{"c-relay", relayURL},
			} {
				b.Run(c.name, func(b *testing.B) {
					perSecond := postAll(b, c.url, benchBody(events))
					if c.name == "a-bare-handler" { // run again with more requests until it is long enough
						bare = perSecond
					}
					b.ReportMetric(perSecond, "req/s")
					b.ReportMetric(perSecond/bare, "x_bare")
				})
			}
		})
	}
}

func benchBody(events int) []byte {
	list := make([]genericEvent, events)
	for i := range list {
		list[i] = genericEvent{Category: "errors", Title: "Disk full on db-1", Text: "/var is at 100 %.", Severity: "critical", Labels: map[string]string{"host": "db-1"}}
	}
	body, err := json.Marshal(map[string]any{"events": list})
	if err != nil {
		panic(err)
	}
	return body
}

// benchHandler decodes the same JSON and answers a reply of the same size; work is done for each event.
func benchHandler(b *testing.B, reply []byte, work func(ctx context.Context, events int)) string {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var webhook struct{ Events []genericEvent }
		if err != nil || json.Unmarshal(body, &webhook) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		work(r.Context(), len(webhook.Events))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		w.Write(reply)
	}))
	b.Cleanup(server.Close)
	return server.URL
}

func askSeedScript(client *redis.Client) func(ctx context.Context, events int) {
	script := redis.NewScript(seedScript) //nolint:forbidigo // the rival, not one of ours
	return func(ctx context.Context, events int) {
		for range events {
			if err := script.Run(ctx, client, []string{"seed:channel", "seed:category"}, 100, 10, 1_800_000_000).Err(); err != nil {
				panic(err)
			}
		}
	}
}

// benchRelay runs a whole relay in this process on the Redis, with the category full, and answers where to post
// and what it replies.
func benchRelay(b *testing.B, redisURL string, events int) (url string, reply []byte) {
	b.Helper()
	cfg := configs.Default()
	cfg.RedisURL, cfg.Listen, cfg.OpsListen, cfg.Drain = configs.Secret(redisURL), "127.0.0.1:0", "127.0.0.1:0", 0
	r, err := assemble(cfg, surroundings{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // ended in Cleanup, when b.Context has ended already
	public, ops, err := r.listen(ctx)
	if err != nil {
		b.Fatal(err)
	}
	done := newTask(ctx, func(context.Context) error { return r.serve(ctx, public, ops) })
	b.Cleanup(func() {
		cancel()
		<-done.done
		r.close()
	})
	url = "http://" + public.Addr().String() + "/hooks/default/generic"
	for range 11 {
		reply = postOnce(b, url, benchBody(events))
	}
	return url, reply
}

func postOnce(b *testing.B, url string, body []byte) []byte {
	b.Helper()
	response, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusAccepted {
		b.Fatalf("%d %s %v", response.StatusCode, answer, err)
	}
	return answer
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// postAll posts from many senders at once and answers the requests per second.
func postAll(b *testing.B, url string, body []byte) float64 {
	b.Helper()
	b.SetParallelism(8) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			response, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	})
	return float64(b.N) / b.Elapsed().Seconds()
}
