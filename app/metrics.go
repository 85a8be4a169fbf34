package app

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// registerPool exposes how the connections to Redis are used.
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
			Name:        "relay_redis_pool_uses_total",
			Help:        "How often a connection to Redis was reused, opened, waited for in vain, or closed because it was stale.",
			ConstLabels: prometheus.Labels{"how": how},
		}, func() float64 { return float64(n(stats())) }))
	}
}

// buildInfo exposes which version runs.
func buildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "relay_build_info", Help: "1, with the version of the relay and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}
