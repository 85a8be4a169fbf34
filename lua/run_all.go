package lua

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Call is one call of a script.
type Call struct {
	Keys []string
	Args []any
}

// RunAll runs a script once for each call, in few round trips where the scripter has pipelines: one, or one for each node of
// a Cluster. It returns the replies in the order of the calls. The script must change nothing when it is repeated.
func RunAll(ctx context.Context, scripter redis.Scripter, script *redis.Script, calls []Call) []*redis.Cmd {
	replies := make([]*redis.Cmd, len(calls))
	pipes, ok := scripter.(interface{ Pipeline() redis.Pipeliner })
	if !ok {
		for i, call := range calls {
			replies[i] = script.Run(ctx, scripter, call.Keys, call.Args...)
		}
		return replies
	}
	pipe := pipes.Pipeline()
	for i, call := range calls {
		replies[i] = script.EvalSha(ctx, pipe, call.Keys, call.Args...)
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error
	again := pipes.Pipeline()
	for i, call := range calls {
		switch err := replies[i].Err(); {
		case redis.HasErrorPrefix(err, "NOSCRIPT"): // the server was restarted
			replies[i] = script.Eval(ctx, again, call.Keys, call.Args...)
		case err != nil && isMoving(err):
			replies[i] = script.Run(ctx, scripter, call.Keys, call.Args...)
		}
	}
	if again.Len() > 0 {
		_, _ = again.Exec(ctx)
	}
	return replies
}
