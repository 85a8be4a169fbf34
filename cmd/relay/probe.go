package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// probeTimeout bounds one look at Redis.
const probeTimeout = 2 * time.Second

// probe looks at Redis before it is relied on. One that can never work as it is configured is an error; one that does not
// serve yet may come: it is looked at again until it does.
func (r *relay) probe(ctx context.Context) error {
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
	r.sayNotServed(ctx, err)
	go r.probeAgain(ctx, err)
	return nil
}

// probeAgain looks at Redis until it serves. What turns out to be misconfigured only now is an outage: channels follow their
// on_redis_down, and somebody may put it right.
func (r *relay) probeAgain(ctx context.Context, err error) {
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
			r.sayNotServed(ctx, err)
		}
	}
}

func (r *relay) sayNotServed(ctx context.Context, err error) {
	r.log.WarnContext(ctx, "redis unavailable at start", "redis", r.started.RedisAddress(), "why", store.Describe(err), "error", err)
}

// misconfigured tells a Redis that can never work from one that may come.
func (r *relay) misconfigured(err error) bool {
	fault := lua.FaultOf(err)
	return errors.Is(err, redisstore.ErrUnsuitable) || fault.Misconfigured() || fault == lua.FaultMoved && !r.started.RedisCluster
}

func (r *relay) probeOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	warnings, err := redisstore.Probe(ctx, r.redis)
	for _, warning := range warnings {
		r.log.WarnContext(ctx, "redis", "warning", warning)
	}
	return err
}

// registerFaults counts the calls that Redis does not serve, by why.
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
