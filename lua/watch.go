package lua

import (
	"context"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Watch has failed told the fault of each call that a client makes and Redis does not serve, whoever makes it.
func Watch(client redis.UniversalClient, failed func(Fault)) {
	if cluster, ok := client.(*redis.ClusterClient); ok { // what is moved there is asked for again, and no fault
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

// watcher is a hook of the client.
type watcher struct{ failed func(Fault) }

var _ redis.Hook = watcher{}

// DialHook implements [redis.Hook]. The call that needed the connection tells.
func (watcher) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements [redis.Hook].
func (w watcher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.tell(err, cmd)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook]. A pipeline fails once.
func (w watcher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.tell(err, cmds...)
		return err
	}
}

// handshake are the calls that make a connection ready: the call that needed it fails as they do.
var handshake = []string{"hello", "auth", "select", "client", "readonly"}

func (w watcher) tell(err error, cmds ...redis.Cmder) {
	if err == nil || len(cmds) == 0 || slices.Contains(handshake, cmds[0].Name()) {
		return
	}
	if fault := FaultOf(err); fault != "" {
		w.failed(fault)
	}
}
