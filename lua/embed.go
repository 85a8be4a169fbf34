// Package lua contains every script that the relay runs in Redis, one file each, and the names of all keys that the
// scripts use.
//
// A script decides and writes in one atomic step, by the clock of Redis. The header of a script is its contract: its
// purpose, KEYS, ARGV with units, the reply, and a command that runs it by hand with redis-cli --eval. All keys of a call
// have the same hash tag (see [Keys]), so that they are in one slot of a Redis Cluster. The scripts need Redis 6.2 or later.
package lua

//go:generate go run ./compose

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed admit.lua
var admitSource string

//go:embed peek.lua
var peekSource string

//go:embed restore.lua
var restoreSource string

//go:embed promote.lua
var promoteSource string

//go:embed force.lua
var forceSource string

//go:embed merge_counts.lua
var mergeCountsSource string

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

//go:embed posted_message.lua
var postedMessageSource string

//go:embed claim.lua
var claimSource string

//go:embed ack.lua
var ackSource string

//go:embed bury.lua
var burySource string

//go:embed expire.lua
var expireSource string

//go:embed discard.lua
var discardSource string

//go:embed retry.lua
var retrySource string

//go:embed renew.lua
var renewSource string

//go:embed release.lua
var releaseSource string

//go:embed append.lua
var appendSource string

//go:embed digest.lua
var digestSource string

//go:embed delayed.lua
var delayedSource string

//go:embed budget_reserve.lua
var budgetReserveSource string

//go:embed credential_pause.lua
var credentialPauseSource string

//go:embed credential_paused.lua
var credentialPausedSource string

//go:embed count_muted.lua
var countMutedSource string

//go:embed pause.lua
var pauseSource string

//go:embed types.lua
var typesSource string

//go:embed memory.lua
var memorySource string

// The scripts. Each runs with EVALSHA, and with EVAL if the server does not have it in its cache.
var (
	Admit             = redis.NewScript(admitSource)
	Peek              = redis.NewScript(peekSource)
	Restore           = redis.NewScript(restoreSource)
	Promote           = redis.NewScript(promoteSource)
	Force             = redis.NewScript(forceSource)
	MergeCounts       = redis.NewScript(mergeCountsSource)
	Refund            = redis.NewScript(refundSource)
	Reset             = redis.NewScript(resetSource)
	Probe             = redis.NewScript(probeSource)
	Warming           = redis.NewScript(warmingSource)
	Heartbeat         = redis.NewScript(heartbeatSource)
	Report            = redis.NewScript(reportSource)
	Series            = redis.NewScript(seriesSource)
	Page              = redis.NewScript(pageSource)
	Remove            = redis.NewScript(removeSource)
	ReadPostedMessage = redis.NewScript(postedMessageSource)
	Claim             = redis.NewScript(claimSource)
	Ack               = redis.NewScript(ackSource)
	Bury              = redis.NewScript(burySource)
	Expire            = redis.NewScript(expireSource)
	Discard           = redis.NewScript(discardSource)
	Retry             = redis.NewScript(retrySource)
	Renew             = redis.NewScript(renewSource)
	Release           = redis.NewScript(releaseSource)
	Append            = redis.NewScript(appendSource)
	PostDigest        = redis.NewScript(digestSource)
	Delayed           = redis.NewScript(delayedSource)
	BudgetReserve     = redis.NewScript(budgetReserveSource)
	CredentialPause   = redis.NewScript(credentialPauseSource)
	CredentialPaused  = redis.NewScript(credentialPausedSource)
	CountMuted        = redis.NewScript(countMutedSource)
	Pause             = redis.NewScript(pauseSource)
	Types             = redis.NewScript(typesSource)
	Memory            = redis.NewScript(memorySource)
)
