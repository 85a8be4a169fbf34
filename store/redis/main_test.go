package redis_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A connection pool whose server is gone tries once a second to reach it: it notices only then that it was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
