package lua

import (
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// refusals are how a server answers a command that it did not carry out, for now.
var refusals = []string{
	"LOADING ", "READONLY ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "MOVED ", "ASK ", "NOREPLICAS ", "OOM ",
	"MISCONF ", "NOAUTH ", "NOPERM ", "WRONGPASS ", "BUSY ",
	"DENIED ", "ERR max number of clients reached", "ERR DB index is out of range", "ERR SELECT is not allowed in cluster mode", "ERR Protocol error: unauthenticated ",
}

// NotSent tells whether a call that failed with err certainly was not carried out: no connection was made, or
// the server refused it.
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
