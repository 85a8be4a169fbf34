package configs

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// Timeouts of the client for Redis. Each call has a deadline of its own besides.
const (
	redisDialTimeout = time.Second
	redisIOTimeout   = 3 * time.Second
)

// Redis returns the options of the client for Redis; nil = no Redis is configured. The client never retries by itself: a
// script that was interrupted may have run, and only the limiter can tell whether it may run again.
func (c *Config) Redis() (*redis.UniversalOptions, error) {
	opts := &redis.UniversalOptions{Addrs: c.RedisAddrs, MasterName: c.RedisMasterName, IsClusterMode: c.RedisCluster}
	switch {
	case c.RedisURL != "":
		single, err := redis.ParseURL(string(c.RedisURL))
		if err != nil {
			return nil, faultf("redis_url", "the value is not a Redis URL; use redis://user:password@host:6379/0 or rediss://...")
		}
		opts.Addrs = []string{single.Addr}
		opts.DB = single.DB
		opts.TLSConfig = single.TLSConfig
		opts.Username = single.Username
		opts.Password = single.Password
		opts.DialTimeout = single.DialTimeout
		opts.PoolSize = single.PoolSize
	case len(c.RedisAddrs) == 0:
		return nil, nil //nolint:nilnil // documented: nothing is configured and nothing is wrong
	case c.RedisTLS:
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	opts.Username = cmp.Or(c.RedisUsername, opts.Username)
	opts.Password = cmp.Or(string(c.RedisPassword), opts.Password)
	opts.Protocol = 2 // RESP3's push messages are not needed, and checking for them costs a read for each call
	opts.MaxRetries = -1
	opts.DialerRetries = 1
	opts.DialTimeout = cmp.Or(opts.DialTimeout, redisDialTimeout)
	opts.ReadTimeout = redisIOTimeout
	opts.WriteTimeout = redisIOTimeout
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return opts, nil
}

// Channel returns a channel by its name, "" = the first, and whether there is one.
func (c *Config) Channel(name string) (Channel, bool) {
	i := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.Name == cmp.Or(name, c.Channels[0].Name) })
	if i < 0 {
		return Channel{}, false
	}
	return c.Channels[i], true
}

// Policies returns what each channel does while Redis is away.
func (c *Config) Policies() map[string]replica.Policy {
	policies := map[string]replica.Policy{}
	for _, ch := range c.Channels {
		policies[ch.Name] = replica.Policy(ch.OnRedisDown)
	}
	return policies
}

// PipelineChannels returns the channels for the pipeline. sender returns the destination of a channel's messages.
func (c *Config) PipelineChannels(sender func(Channel) notifier.Sender) []pipeline.Channel {
	channels := make([]pipeline.Channel, len(c.Channels))
	for i, ch := range c.Channels {
		channels[i] = pipeline.Channel{
			Name:        ch.Name,
			Group:       ch.LimitGroup,
			Tiers:       ch.Tiers(),
			FirstNotice: ch.firstNotice(),
			Headroom:    map[events.Severity]float64{},
			Handling:    ch.handling(),
			Bundle:      ch.Bundle == "webhook",
			Pace:        store.Pace{Every: ch.Pace, Burst: ch.Burst},
			TTL:         ch.TTL,
			Digest:      ch.digestTerms(),
			Sender:      sender(ch),
			Renderer:    ch.renderer(),
			Fallback:    c.fallback(ch),
			DropUnknown: ch.dropUnknown(),
			Rules:       c.Rules(ch),
		}
		for _, reserve := range ch.Reserves {
			channels[i].Reserves = append(channels[i].Reserves, pipeline.Reserve(reserve))
		}
		for _, h := range ch.Headroom {
			channels[i].Headroom[events.Severity(h.Severity)] = h.Share
		}
	}
	return channels
}

// RedisLog makes go-redis log to logger.
func RedisLog(logger *slog.Logger) { redis.SetLogger(redisLogger{logger}) }

// redisLogger writes what go-redis logs at level debug: the relay itself reports, once, when Redis is away.
type redisLogger struct{ logger *slog.Logger }

// Printf implements go-redis's logging interface.
func (l redisLogger) Printf(ctx context.Context, format string, args ...any) {
	l.logger.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}
