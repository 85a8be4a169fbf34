package lua

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// typesOf are the types of the keys, by the kind in their name. All other kinds are hashes.
var typesOf = map[string]string{
	"seen": "zset", "refunds": "zset", "known": "zset", "heard": "zset", "outbox": "zset", "extras": "zset", "aged": "zset",
	"told": "zset", "delayed": "zset", "noted": "zset", "due": "zset", "alive": "zset", "limit:sliding-log": "zset",
	"dead": "stream", "drops": "stream", "limit:backlog-stream": "stream",
	"limit:backlog-list": "list", "pace": "string", "epoch": "string", "budget": "string",
}

var kindInKey = regexp.MustCompile(`^relay:(?:\{[^}]*\}:)?(limit:[a-z-]+|[a-z]+)`)

// TypeOf returns the Redis type of a key of the relay, for example zset, or "" if the relay has no such key.
func TypeOf(key string) string {
	match := kindInKey.FindStringSubmatch(key)
	if match == nil {
		return ""
	}
	if kind, ok := typesOf[match[1]]; ok {
		return kind
	}
	return "hash"
}

// WrongType adds to the WRONGTYPE error of a script the key that has the wrong type. It returns any other error unchanged.
// The scripts check the types before they write, so that nothing was written.
func WrongType(ctx context.Context, scripter redis.Scripter, keys []string, err error) error {
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		return err
	}
	types, failed := Types.Run(ctx, scripter, keys).StringSlice()
	if failed != nil || len(types) != len(keys) {
		return err
	}
	var wrong []string
	for i, key := range keys {
		if want := TypeOf(key); want != "" && types[i] != "none" && types[i] != want {
			wrong = append(wrong, fmt.Sprintf("the key %s holds a %s where the relay keeps a %s", key, types[i], want))
		}
	}
	if len(wrong) == 0 {
		return err
	}
	return fmt.Errorf("%s; nothing was written; rename or delete it: %w", strings.Join(wrong, "; "), err)
}
