package configs

import (
	"time"

	"slackrelay/events"
	"slackrelay/server"
	"slackrelay/store"
)

// Default is the configuration of a relay that nobody configured.
func Default() Config {
	limits := events.DefaultLimits()
	return Config{
		Listen:       "127.0.0.1:8080",
		OpsListen:    "127.0.0.1:9090",
		RedisAddrs:   []string{},
		Drain:        5 * time.Second,
		Dedupe:       time.Hour,
		Lease:        10 * time.Second,
		RedisTimeout: time.Second,
		SlackTimeout: 5 * time.Second,
		SlackSettle:  10 * time.Second,
		DeadLetters:  1000,

		TrustedProxies: []string{},
		MaxBody:        server.DefaultMaxBody,
		MaxEvents:      int64(limits.Events),
		MaxDepth:       int64(limits.Depth),
		MaxTitle:       int64(limits.Title),
		MaxText:        int64(limits.Text),
		MaxLabel:       int64(limits.Label),
		MaxLabels:      int64(limits.Labels),
		MaxEvent:       int64(limits.Event),
		MaxConcurrent:  server.DefaultMaxConcurrent,
		TestLane:       true,
		ReadTimeout:    server.DefaultReadTimeout,
		CanaryWithin:   time.Minute,

		LogLevel:   "info",
		LogBurst:   20,
		TraceRatio: 1,
		LogFormat:  "text",
		Sources:    []Source{},
		Schedules:  []Schedule{},
		Channels:   []Channel{DefaultChannel("default")},
	}
}

// DefaultChannel is a channel of which only the name is known.
func DefaultChannel(name string) Channel {
	return Channel{
		Name:          name,
		GlobalLimit:   100,
		CategoryLimit: 10,
		Window:        30 * time.Minute,
		Pace:          time.Second,
		Burst:         3,
		TTL:           time.Hour,
		Overflow:      "drop",
		MaxDelayed:    1000,
		MaxDelay:      time.Hour,
		Bundle:        "off",
		Resolves:      "post",
		Repeats:       "post",
		Digest:        true,
		DigestMinimum: 1,
		DropRecord:    10_000,
		OnUnknown:     "retry",
		Unknown:       []Unknown{},
		Mentions:      []Mention{},
		OnRedisDown:   "local",

		RememberPosted: store.DefaultPostedFor,

		Auth:        []Credential{},
		AllowFrom:   []string{},
		OnDrop:      []OnDrop{},
		Rules:       []Rule{},
		RuleTests:   []RuleTest{},
		Levels:      []Level{},
		FirstNotice: FirstNotice{Mode: "off"},
		Reserves:    []Reserve{},
		Headroom:    []Headroom{},
	}
}
