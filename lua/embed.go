// Package lua holds every script that the relay runs inside Redis, one file each, and the names of
// every key they touch.
//
// A script decides and writes in one atomic step, with Redis's own clock. Its header is its contract:
// purpose, KEYS, ARGV with units, reply, and a line that runs it by hand with redis-cli --eval. All keys
// of one call carry the same hash tag (see [Keys]), so that a call stays in one slot of a Redis Cluster.
// Nothing newer than Redis 6.2 is used.
package lua

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed admit.lua
var admitSource string

//go:embed fold.lua
var foldSource string

//go:embed refund.lua
var refundSource string

//go:embed reset.lua
var resetSource string

//go:embed probe.lua
var probeSource string

//go:embed warming.lua
var warmingSource string

//go:embed heartbeat.lua
var heartbeatSource string

//go:embed report.lua
var reportSource string

//go:embed series.lua
var seriesSource string

//go:embed page.lua
var pageSource string

//go:embed remove.lua
var removeSource string

//go:embed record.lua
var recordSource string

//go:embed claim.lua
var claimSource string

//go:embed settle.lua
var settleSource string

//go:embed retry.lua
var retrySource string

//go:embed renew.lua
var renewSource string

//go:embed release.lua
var releaseSource string

//go:embed put.lua
var putSource string

//go:embed digest.lua
var digestSource string

//go:embed delayed.lua
var delayedSource string

//go:embed budget.lua
var budgetSource string

//go:embed mute.lua
var muteSource string

//go:embed types.lua
var typesSource string

//go:embed hold.lua
var holdSource string

//go:embed memory.lua
var memorySource string

// The scripts. Each runs by EVALSHA and falls back to EVAL where the server does not know it yet.
var (
	Admit      = redis.NewScript(admitSource)
	Fold       = redis.NewScript(foldSource)
	Refund     = redis.NewScript(refundSource)
	Reset      = redis.NewScript(resetSource)
	Probe      = redis.NewScript(probeSource)
	Warming    = redis.NewScript(warmingSource)
	Heartbeat  = redis.NewScript(heartbeatSource)
	Report     = redis.NewScript(reportSource)
	Series     = redis.NewScript(seriesSource)
	Page       = redis.NewScript(pageSource)
	Remove     = redis.NewScript(removeSource)
	ReadRecord = redis.NewScript(recordSource)
	Claim      = redis.NewScript(claimSource)
	Settle     = redis.NewScript(settleSource)
	Retry      = redis.NewScript(retrySource)
	Renew      = redis.NewScript(renewSource)
	Release    = redis.NewScript(releaseSource)
	Put        = redis.NewScript(putSource)
	Digester   = redis.NewScript(digestSource)
	Delayed    = redis.NewScript(delayedSource)
	Budget     = redis.NewScript(budgetSource)
	Mute       = redis.NewScript(muteSource)
	Hold       = redis.NewScript(holdSource)
	Types      = redis.NewScript(typesSource)
	Memory     = redis.NewScript(memorySource)
)
