package lua

import (
	"context"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Watch calls failed with the fault of each call of the client that Redis does not serve. It must be called before the
// client is used; failed may be called from several goroutines at once.
func Watch(client redis.UniversalClient, failed func(Fault)) {
	if cluster, ok := client.(*redis.ClusterClient); ok { // it follows MOVED and ASK, so these are not faults
		cluster.OnNewNode(func(node *redis.Client) {
			node.AddHook(watcher{func(fault Fault) {
				if fault != FaultMoved {
					failed(fault)
				}
			}})
		})
		return
	}
	client.AddHook(watcher{failed})
}

// watcher is a hook that reports the faults of a client's calls.
type watcher struct{ failed func(Fault) }

var _ redis.Hook = watcher{}

// DialHook implements [redis.Hook]. It reports nothing, because the call that needs the connection fails too.
func (watcher) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements [redis.Hook].
func (w watcher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.report(err, cmd)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook]. It reports a failed pipeline once.
func (w watcher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.report(err, cmds...)
		return err
	}
}

// handshake are the calls that set up a connection. They are not reported, because the call that needs the connection
// fails too.
var handshake = []string{"hello", "auth", "select", "client", "readonly"}

func (w watcher) report(err error, cmds ...redis.Cmder) {
	if err == nil || len(cmds) == 0 || slices.Contains(handshake, cmds[0].Name()) {
		return
	}
	if fault := FaultOf(err); fault != "" {
		w.failed(fault)
	}
}
