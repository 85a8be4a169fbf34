package memory

import (
	"context"

	"slackrelay/store"
)

// Memory implements [store.Replication]. Unlike lua/memory.lua, it returns 0: the data may become as large as the process.
func (*Store) Memory(context.Context, store.Channel) (used, limit int64, err error) {
	return 0, 0, nil
}
