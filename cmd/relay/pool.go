package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// registerPool tells how the connections to Redis are used.
func registerPool(registerer prometheus.Registerer, stats func() *redis.PoolStats) {
	for state, n := range map[string]func(*redis.PoolStats) uint32{
		"all": func(s *redis.PoolStats) uint32 { return s.TotalConns }, "idle": func(s *redis.PoolStats) uint32 { return s.IdleConns },
	} {
		registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "relay_redis_pool_connections", Help: "Connections to Redis.", ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(n(stats())) }))
	}
	for how, n := range map[string]func(*redis.PoolStats) uint32{
		"reused": func(s *redis.PoolStats) uint32 { return s.Hits }, "new": func(s *redis.PoolStats) uint32 { return s.Misses },
		"timeout": func(s *redis.PoolStats) uint32 { return s.Timeouts }, "stale": func(s *redis.PoolStats) uint32 { return s.StaleConns },
	} {
		registerer.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "relay_redis_pool_uses_total", Help: "How often a connection to Redis was found, or not in time, or was given up.", ConstLabels: prometheus.Labels{"how": how},
		}, func() float64 { return float64(n(stats())) }))
	}
}
