package configs

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
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
		if err != nil { // the error may contain the password
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
	if err := c.addRedisCertificates(opts.TLSConfig); err != nil {
		return nil, err
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

func (c *Config) validateRedis(v validator) {
	_, err := c.Redis()
	v.add(err)
	if (c.RedisCertFile == "") != (c.RedisKeyFile == "") {
		v.fault("redis_cert_file", "set it together with redis_key_file")
	}
	if c.RedisURL != "" && len(c.RedisAddrs) > 0 {
		v.fault("redis_addrs", "cannot be combined with redis_url; keep one")
	}
	switch {
	case len(c.RedisAddrs) == 0 && (c.RedisCluster || c.RedisMasterName != "" || c.RedisTLS):
		v.fault("redis_addrs", "is empty; redis_cluster, redis_master_name and redis_tls need it")
	case c.RedisCluster && c.RedisMasterName != "":
		v.fault("redis_master_name", "cannot be combined with redis_cluster; keep the one that redis_addrs belong to")
	case len(c.RedisAddrs) > 1 && !c.RedisCluster && c.RedisMasterName == "":
		v.fault("redis_addrs", "lists several servers; set redis_cluster, or redis_master_name for Sentinels")
	}
}

// RedisAddress describes the Redis in use: scheme, host, port and database of redis_url, or redis_addrs and what they are.
// It contains neither user nor password; "" = none is used.
func (c *Config) RedisAddress() string {
	addrs := strings.Join(c.RedisAddrs, ", ")
	switch {
	case c.RedisURL != "":
		return address(string(c.RedisURL))
	case addrs == "":
		return ""
	case c.RedisCluster:
		return addrs + " (Cluster)"
	case c.RedisMasterName != "":
		return addrs + " (Sentinels of " + c.RedisMasterName + ")"
	default:
		return addrs
	}
}

// address returns the part of redis_url that may be shown. If a password contains characters that end a host name, the
// parser may take it for something else: the result is masked unless it is certain.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || u.RawFragment != "" || u.User == nil && strings.Contains(text, "@") {
		return masked
	}
	opts, err := redis.ParseURL(text)
	if err != nil || strings.Contains(u.RawQuery, "@") || strings.Contains(u.Path, "@") {
		return masked
	}
	if u.Scheme == "unix" {
		return fmt.Sprintf("unix://%s, database %d", u.Path, opts.DB)
	}
	return fmt.Sprintf("%s://%s/%d", u.Scheme, opts.Addr, opts.DB)
}

// RedisFault returns the error of a Redis that cannot be used as it is configured. why explains err; it may be empty.
func (c *Config) RedisFault(why string, err error) error {
	setting := "redis_url"
	if c.RedisURL == "" {
		setting = "redis_addrs"
	}
	fault := faultf(setting, "%s: %v", c.RedisAddress(), err)
	if why != "" {
		fault = faultf(setting, "%s: %s (%v)", c.RedisAddress(), why, err)
	}
	return &InvalidError{Faults: []*FieldError{fault}}
}

// RedisLog makes go-redis log to logger.
func RedisLog(logger *slog.Logger) { redis.SetLogger(redisLogger{logger}) }

// redisLogger writes what go-redis logs at level debug: the relay itself reports, once, when Redis is away.
type redisLogger struct{ logger *slog.Logger }

// Printf implements go-redis's logging interface.
func (l redisLogger) Printf(ctx context.Context, format string, args ...any) {
	l.logger.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}
