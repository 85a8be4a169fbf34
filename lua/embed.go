// Package lua contains every script that the relay runs in Redis, one file each, and the names of all keys that the
// scripts use.
//
// A script decides and writes in one atomic step, by the clock of Redis. The header of a script is its contract: its
// purpose, KEYS, ARGV with units, the reply, and an example with redis-cli --eval. All keys of a call
// have the same hash tag (see [Keys]), so that they are in one slot of a Redis Cluster. The scripts need Redis 6.2 or later.
package lua

//go:generate go run ./compose

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var sources embed.FS

// sourceOf returns the source of a script of this package.
func sourceOf(name string) string {
	text, err := sources.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // a script that is not embedded is a mistake in the table below
	}
	return string(text)
}

func load(name string) *redis.Script { return redis.NewScript(sourceOf(name)) }

// The scripts. Each runs with EVALSHA, and with EVAL if the server does not have it in its cache.
var (
	Admit             = load("admit")
	Peek              = load("peek")
	Restore           = load("restore")
	Promote           = load("promote")
	Force             = load("force")
	MergeCounts       = load("merge_counts")
	Refund            = load("refund")
	Reset             = load("reset")
	Probe             = load("probe")
	Heartbeat         = load("heartbeat")
	Report            = load("report")
	Series            = load("series")
	Page              = load("page")
	Remove            = load("remove")
	ReadPostedMessage = load("posted_message")
	Mark              = load("mark")
	Claim             = load("claim")
	Ack               = load("ack")
	AckClaim          = load("ack_claim")
	Bury              = load("bury")
	Expire            = load("expire")
	Discard           = load("discard")
	Retry             = load("retry")
	Renew             = load("renew")
	Release           = load("release")
	Append            = load("append")
	PostDigest        = load("digest")
	Delayed           = load("delayed")
	Due               = load("due")
	BudgetReserve     = load("budget_reserve")
	CredentialPause   = load("credential_pause")
	CredentialPaused  = load("credential_paused")
	CountMuted        = load("count_muted")
	Pause             = load("pause")
	Types             = load("types")
	Memory            = load("memory")
	Problems          = load("problems")
	SaveProblems      = load("save_problems")
	DueProblems       = load("due_problems")
	ListProblems      = load("list_problems")
	InstanceUse       = load("instance_use")
	InstancesChanged  = load("instances")
	InstancesIdle     = load("instances_idle")
	InstanceRemove    = load("instance_remove")
	ForgetChannel     = load("forget_channel")
)
