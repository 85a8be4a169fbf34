package lua

import (
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// refusals are the prefixes of the errors with which a server refuses a command without running it.
var refusals = []string{
	"LOADING ", "READONLY ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "MOVED ", "ASK ", "NOREPLICAS ", "OOM ",
	"MISCONF ", "NOAUTH ", "NOPERM ", "WRONGPASS ", "BUSY ", "DENIED ",
	"ERR max number of clients reached", "ERR DB index is out of range", "ERR SELECT is not allowed in cluster mode",
	"ERR Protocol error: unauthenticated ",
}

// NotSent reports whether a call that failed with err certainly did not run: no connection was made, or the server
// refused the command. It is safe to repeat such a call. If NotSent returns false, the call may have run.
func NotSent(err error) bool {
	if answered, ok := errors.AsType[redis.Error](err); ok {
		for _, prefix := range refusals {
			if strings.HasPrefix(answered.Error(), prefix) {
				return true
			}
		}
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || noHandshake(err) || errors.Is(err, redis.ErrPoolTimeout)
}
