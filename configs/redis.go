package configs

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

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
	return &InvalidError{Faults: []error{fault}}
}
