package redis_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, storetest.Redis) }

// onServer is a store on a server, with the server's own clock.
func onServer(client redis.Scripter) storetest.Fixture {
	return storetest.Fixture{
		Limiter: redisstore.New(client, redisstore.Options{}),
		A:       redisstore.New(client, redisstore.Options{Options: storetest.SenderA}),
	}
}
