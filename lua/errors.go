package lua

import (
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// NotSent reports whether a call that failed with err certainly did not run: no connection was made, or the server
// refused the command. It is safe to repeat such a call. If NotSent returns false, the call may have run.
func NotSent(err error) bool {
	if answered, ok := errors.AsType[redis.Error](err); ok {
		for _, answer := range answers {
			if strings.HasPrefix(answered.Error(), answer.prefix) {
				return answer.notRun
			}
		}
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || noHandshake(err) || errors.Is(err, redis.ErrPoolTimeout)
}
