package lua

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Keys names the keys of one channel. Every name carries the limit group as its hash tag.
type Keys struct {
	tag     string // "relay:{group}:"
	channel string
}

// KeysOf names the keys of a channel in a limit group; no group is one of the channel's own name. Braces, colons, percent
// and control characters of both, and bytes that are no UTF-8, are escaped as %XX, so that two different names never meet
// in one key and the hash tag stays whole.
func KeysOf(group, channel string) Keys {
	tag := escape(cmp.Or(group, channel))
	if tag == "" {
		tag = noName // {} is no hash tag
	}
	return Keys{tag: "relay:{" + tag + "}:", channel: escape(channel)}
}

// noName stands for neither group nor channel; no name is escaped to it.
const noName = "%"

// Grouped tells whether a level's key names a limit group or a channel.
func Grouped(key string) bool { return !strings.HasPrefix(key, "relay:{"+noName+"}:") }

// OuterLimit is the level that all channels of the group share.
func (k Keys) OuterLimit(strategy string) string {
	return k.tag + "limit:" + strategy + ":channel"
}

// InnerLimit is one value of an inner level, a category say, of the channel.
func (k Keys) InnerLimit(strategy, level, value string) string {
	return k.tag + "limit:" + strategy + ":" + escape(level) + ":" + k.channel + ":" + escape(value)
}

// Seen is the sorted set of the ids admitted within the dedupe time.
func (k Keys) Seen() string { return k.of("seen") }

// Refunds is the sorted set of the ids whose slots were given back.
func (k Keys) Refunds() string { return k.of("refunds") }

// Known is the sorted set of the channel's categories by their last attempt.
func (k Keys) Known() string { return k.of("known") }

// Heard is the sorted set of the channel's categories by their last admission.
func (k Keys) Heard() string { return k.of("heard") }

// Windows is the hash of how long the channel's levels look back.
func (k Keys) Windows() string { return k.of("windows") }

// Folds is the hash of the last fold of each replica.
func (k Keys) Folds() string { return k.of("folds") }

// Ledger is the hash of the channel's totals.
func (k Keys) Ledger() string { return k.of("ledger") }

// Series is the hash of counts a category in the hour that holds t.
func (k Keys) Series(t time.Time) string {
	return k.of("series") + ":" + strconv.FormatInt(t.Unix()/3600, 10)
}

// Minutes is the hash of counts a minute and category in the hour that holds t.
func (k Keys) Minutes(t time.Time) string {
	return k.of("minutes") + ":" + strconv.FormatInt(t.Unix()/3600, 10)
}

// Outbox is the sorted set of entry numbers, in the order of admission.
func (k Keys) Outbox() string { return k.of("outbox") }

// Entries is the hash of what the outbox holds, by entry number.
func (k Keys) Entries() string { return k.of("entries") }

// Dead is the stream of dead letters.
func (k Keys) Dead() string { return k.of("dead") }

// Extras is the sorted set of the entries that spend no slot (edits, digests, notices, copies), by when each is due.
func (k Keys) Extras() string { return k.of("extras") }

// Posted is the hash of what was admitted and may be referred to later: "<number>" = a record, "f:<fingerprint>"
// and "c:<category>" = the number of the newest.
func (k Keys) Posted() string { return k.of("posted") }

// Aged is the sorted set of the records in Posted, by when they were last touched.
func (k Keys) Aged() string { return k.of("aged") }

// Drops is the stream that records what was dropped.
func (k Keys) Drops() string { return k.of("drops") }

// Digest is the hash of what the next digest will say.
func (k Keys) Digest() string { return k.of("digest") }

// Told is the sorted set of the categories by their last admission, for the digest.
func (k Keys) Told() string { return k.of("told") }

// Delayed is the sorted set of what waits for a slot: "<number> <category>".
func (k Keys) Delayed() string { return k.of("delayed") }

// Noted is the sorted set of the ids of what was put in without a slot.
func (k Keys) Noted() string { return k.of("noted") }

// Lease is the hash that names the one sender of the channel.
func (k Keys) Lease() string { return k.of("lease") }

// Pause is the hash that says until when nothing is sent, and why.
func (k Keys) Pause() string { return k.of("pause") }

// Pace is the state of the channel's pace.
func (k Keys) Pace() string { return k.of("pace") }

func (k Keys) of(kind string) string { return k.tag + kind + ":" + k.channel }

// The keys of the replicas themselves, which are of no channel.
const (
	Alive  = "relay:{replicas}:alive"  // sorted set of replicas, by their last heartbeat
	Epoch  = "relay:{replicas}:epoch"  // string that changes only where the data was lost
	Levels = "relay:{replicas}:levels" // hash: replica = digest of the windows of its levels
	Texts  = "relay:{replicas}:texts"  // hash: digest = these windows
)

// Workspace names what all channels with one Slack credential share.
type Workspace struct{ tag string }

// WorkspaceOf names the keys of a workspace by a hash of its credential.
func WorkspaceOf(hash string) Workspace { return Workspace{"relay:{ws:" + escape(hash) + "}:"} }

// Budget is the state of the workspace's budget for one method of Slack's.
func (w Workspace) Budget(method string) string { return w.tag + "budget:" + escape(method) }

// Pause is the hash that says until when the credential is not used, and why.
func (w Workspace) Pause() string { return w.tag + "pause" }

// ProbeKeys are the keys of the start-up probe: a sorted set, a hash, a string, a stream and a list.
func ProbeKeys() []string {
	return []string{
		"relay:{probe}:zset", "relay:{probe}:hash", "relay:{probe}:string", "relay:{probe}:stream", "relay:{probe}:list",
	}
}

func escape(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, unsafe) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if unsafe(r) || r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", name[i])
		} else {
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func unsafe(r rune) bool {
	return r < 0x20 || r == 0x7f || r == '{' || r == '}' || r == ':' || r == '%'
}

// Silences is the hash of all silences, of every channel.
const Silences = "relay:{silences}:all"
