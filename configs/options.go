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
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// How long the relay waits for Redis. Each call has a deadline of its own on top.
const (
	redisDialTimeout = time.Second
	redisIOTimeout   = 3 * time.Second
)

// Redis are the options of the client; nil where no Redis is configured. The client never retries by
// itself: a script that was cut off may have run, and the limiter must be the one to know.
func (c *Config) Redis() (*redis.UniversalOptions, error) {
	opts := &redis.UniversalOptions{Addrs: c.RedisAddrs, MasterName: c.RedisMasterName, IsClusterMode: c.RedisCluster}
	switch {
	case c.RedisURL != "":
		single, err := redis.ParseURL(string(c.RedisURL))
		if err != nil {
			return nil, faultf("redis_url", "is not of the form redis://user:password@host:6379/0 or rediss://...")
		}
		opts.Addrs, opts.DB, opts.TLSConfig = []string{single.Addr}, single.DB, single.TLSConfig
		opts.Username, opts.Password = single.Username, single.Password
		opts.DialTimeout, opts.PoolSize = single.DialTimeout, single.PoolSize
	case len(c.RedisAddrs) == 0:
		return nil, nil //nolint:nilnil // documented: nothing is configured and nothing is wrong
	case c.RedisTls:
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	opts.Username, opts.Password = cmp.Or(c.RedisUsername, opts.Username), cmp.Or(string(c.RedisPassword), opts.Password)
	opts.Protocol = 2 // RESP3's push messages are not needed, and looking for them costs a read a call
	opts.MaxRetries = -1
	opts.DialerRetries = 1
	opts.DialTimeout = cmp.Or(opts.DialTimeout, redisDialTimeout)
	opts.ReadTimeout, opts.WriteTimeout = redisIOTimeout, redisIOTimeout
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return opts, nil
}

// Channel finds a channel by its name; "" = the first.
func (c *Config) Channel(name string) (Channel, bool) {
	i := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.Name == cmp.Or(name, c.Channels[0].Name) })
	if i < 0 {
		return Channel{}, false
	}
	return c.Channels[i], true
}

// Policies are what the channels do while Redis is away.
func (c *Config) Policies() map[string]replica.Policy {
	policies := map[string]replica.Policy{}
	for _, ch := range c.Channels {
		policies[ch.Name] = replica.Policy(ch.OnRedisDown)
	}
	return policies
}

// PipelineChannels are the channels for the pipeline; sender makes where each one's messages go.
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

func (c Channel) firstNotice() ratelimit.FirstNotice {
	switch f := c.FirstNotice; f.Mode {
	case "fixed":
		return ratelimit.FirstNotice{Slots: f.Slots, PerCategory: f.PerCategory}
	case "auto":
		return ratelimit.FirstNotice{Auto: true, Floor: f.Floor}
	default:
		return ratelimit.FirstNotice{}
	}
}

// OpsIsLocal tells whether only this machine reaches the ops listener.
func (c *Config) OpsIsLocal() bool { return isLoopback(c.OpsListen) }

// Sender makes where a channel's messages go; preview is used where no Slack is configured.
func (c *Config) Sender(ch Channel, preview func(channel string) notifier.Sender) notifier.Sender {
	switch {
	case ch.SlackWebhookURL != "":
		return notifier.NewWebhook(notifier.WebhookOptions{URL: string(ch.SlackWebhookURL), Timeout: c.SlackTimeout})
	case c.SlackToken != "" && ch.SlackChannel != "":
		return c.botFor(ch.SlackChannel)
	default:
		return preview(ch.Name)
	}
}

// RedisLog makes go-redis write to logger.
func RedisLog(logger *slog.Logger) { redis.SetLogger(redisLogger{logger}) }

// redisLogger takes go-redis's own lines at debug: the relay says itself, once, when Redis is away.
type redisLogger struct{ logger *slog.Logger }

// Printf implements go-redis's logging interface.
func (l redisLogger) Printf(ctx context.Context, format string, args ...any) {
	l.logger.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, args...))
}
