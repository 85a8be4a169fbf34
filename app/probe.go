package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/lua"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// probeTimeout bounds one probe of Redis; probes are as far apart.
const probeTimeout = 2 * time.Second

// probe checks Redis before the relay relies on it. A Redis that can never work as it is configured is an error. One that is
// not available yet is an outage: probeUntilServed repeats the probe.
func (r *Relay) probe(ctx context.Context) error {
	if r.redis == nil {
		return nil
	}
	err := r.probeOnce(ctx)
	if err == nil {
		return nil
	}
	if r.misconfigured(err) {
		return r.started.RedisFault(store.Describe(err), err)
	}
	r.logUnavailable(ctx, err)
	r.unavailable = err
	return nil
}

// CheckRedis connects to the Redis of a configuration and checks that the relay can rely on it. Unlike the relay at its start, it
// treats a Redis that is not available as an error. The warnings name settings of Redis that can lose data.
func CheckRedis(ctx context.Context, cfg *configs.Config) (warnings []string, err error) {
	options, err := cfg.Redis()
	if err != nil || options == nil {
		return nil, err
	}
	client := redis.NewUniversalClient(options)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	warnings, err = redisstore.Probe(ctx, client)
	if err != nil {
		return warnings, cfg.RedisFault(store.Describe(err), err)
	}
	return warnings, nil
}

// probeUntilServed repeats a probe that found Redis unavailable until one succeeds. What proves to be misconfigured only now
// is an outage too: channels follow their on_redis_down, and somebody may correct it.
func (r *Relay) probeUntilServed(ctx context.Context) {
	err := r.unavailable
	ticker := time.NewTicker(probeTimeout)
	defer ticker.Stop()
	for err != nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		before := err
		if err = r.probeOnce(ctx); err != nil && ctx.Err() == nil && lua.FaultOf(err) != lua.FaultOf(before) {
			r.logUnavailable(ctx, err)
		}
	}
}

func (r *Relay) logUnavailable(ctx context.Context, err error) {
	r.log.WarnContext(ctx, "redis unavailable at start", "redis", r.started.RedisAddress(), "why", store.Describe(err), "error", err)
}

// misconfigured reports whether a Redis that failed its probe can never work, as opposed to one that may become available.
func (r *Relay) misconfigured(err error) bool {
	fault := lua.FaultOf(err)
	return errors.Is(err, redisstore.ErrUnsuitable) || fault.Misconfigured() || fault == lua.FaultMoved && !r.started.RedisCluster
}

func (r *Relay) probeOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	warnings, err := redisstore.Probe(ctx, r.redis)
	for _, warning := range warnings {
		r.log.WarnContext(ctx, "redis", "warning", warning)
	}
	return err
}

// registerFaults counts the calls that Redis fails, by kind of error.
func registerFaults(registerer prometheus.Registerer, client redis.UniversalClient) {
	faults := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_redis_errors_total", Help: "Failed Redis calls, by kind of error.",
	}, []string{"kind"})
	for _, fault := range lua.Faults() {
		faults.WithLabelValues(string(fault))
	}
	registerer.MustRegister(faults)
	lua.Watch(client, func(fault lua.Fault) { faults.WithLabelValues(string(fault)).Inc() })
}
