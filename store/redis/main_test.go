package redis_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The pool of a client whose server is gone dials once a second, also right after the client was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
