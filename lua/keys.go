package lua

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Keys returns the names of the keys of one channel. Every name has the limit group as its hash tag. Create it with [KeysOf].
type Keys struct {
	tag     string // "relay:{group}:"
	channel string
}

// KeysOf returns the keys of a channel in a limit group. An empty group stands for a group with the name of the channel.
// Braces, colons, percent signs, control characters and bytes that are not valid UTF-8 are escaped as %XX in both names,
// so that different names never share a key, and the hash tag stays intact.
func KeysOf(group, channel string) Keys {
	tag := escape(cmp.Or(group, channel))
	if tag == "" {
		tag = noName // Redis ignores an empty hash tag
	}
	return Keys{tag: "relay:{" + tag + "}:", channel: escape(channel)}
}

// noName is the hash tag if both group and channel are empty. No name is escaped to it.
const noName = "%"

// Grouped reports whether the key of a level contains a limit group or a channel.
func Grouped(key string) bool { return !strings.HasPrefix(key, "relay:{"+noName+"}:") }

// ChannelLimit is the state of the channel level, which all channels of the group share. Its type depends on the strategy.
func (k Keys) ChannelLimit(strategy string) string {
	return k.tag + "limit:" + strategy + ":channel"
}

// ValueLimit is the state of one value of another level of the channel, for example of one category. Its type depends on
// the strategy.
func (k Keys) ValueLimit(strategy, level, value string) string {
	return k.tag + "limit:" + strategy + ":" + escape(level) + ":" + k.channel + ":" + escape(value)
}

// Seen is the sorted set of the IDs of the events that were admitted within the dedupe time.
func (k Keys) Seen() string { return k.of("seen") }

// Refunds is the sorted set of the IDs of the events whose slots were refunded.
func (k Keys) Refunds() string { return k.of("refunds") }

// Known is the sorted set of the channel's categories, by the time of their last attempt.
func (k Keys) Known() string { return k.of("known") }

// AdmittedCategories is the sorted set of the channel's categories, by the time of their last admission. The fairness of
// the channel level uses it.
func (k Keys) AdmittedCategories() string { return k.of("heard") }

// Windows is the hash of the longest windows of the channel's levels.
func (k Keys) Windows() string { return k.of("windows") }

// MergeSequences is the hash of the sequence number of each replica's last merge of its counts.
func (k Keys) MergeSequences() string { return k.of("folds") }

// Ledger is the hash of the channel's totals.
func (k Keys) Ledger() string { return k.of("ledger") }

// Series is the hash of the counts of each category in the hour of t.
func (k Keys) Series(t time.Time) string {
	return k.of("series") + ":" + strconv.FormatInt(t.Unix()/3600, 10)
}

// Minutes is the hash of the counts of each minute and category in the hour of t.
func (k Keys) Minutes(t time.Time) string {
	return k.of("minutes") + ":" + strconv.FormatInt(t.Unix()/3600, 10)
}

// Outbox is the sorted set of entry numbers, in the order of admission.
func (k Keys) Outbox() string { return k.of("outbox") }

// Entries is the hash of the entries of the outbox, by entry number.
func (k Keys) Entries() string { return k.of("entries") }

// Dead is the stream of dead letters.
func (k Keys) Dead() string { return k.of("dead") }

// Extras is the sorted set of the entries that need no slot (edits, digests, notices, copies), by the time when each is due.
func (k Keys) Extras() string { return k.of("extras") }

// Posted is the hash of the messages that later events may refer to. The field "<number>" is a posted message,
// "f:<fingerprint>" and "c:<category>" are the number of the newest one.
func (k Keys) Posted() string { return k.of("posted") }

// Aged is the sorted set of the messages in Posted, by the time of their last use.
func (k Keys) Aged() string { return k.of("aged") }

// Drops is the stream of the drop log.
func (k Keys) Drops() string { return k.of("drops") }

// Digest is the hash of the counts that the next digest reports.
func (k Keys) Digest() string { return k.of("digest") }

// LastAdmitted is the sorted set of the channel's categories, by the time of their last admission. The digest reports it.
func (k Keys) LastAdmitted() string { return k.of("told") }

// Delayed is the sorted set of the events that wait for a slot, each as "<number> <category>".
func (k Keys) Delayed() string { return k.of("delayed") }

// Problems is the hash of the channel's documents, by name. Its fields "bytes" and "version" are their size and the newest version.
func (k Keys) Problems() string { return k.of("problems") }

// ProblemNames is the sorted set of the names of the documents, in their order.
func (k Keys) ProblemNames() string { return k.of("problemnames") }

// ProblemWakes is the sorted set of the documents that have a wake time, by it.
func (k Keys) ProblemWakes() string { return k.of("problemwakes") }

// ProblemEnds is the sorted set of the other documents, by the time when each is forgotten.
func (k Keys) ProblemEnds() string { return k.of("problemends") }

// NoticeIDs is the sorted set of the IDs of the entries that were appended without a slot.
func (k Keys) NoticeIDs() string { return k.of("noted") }

// Lease is the hash of the lease of the replica that sends the messages of the channel.
func (k Keys) Lease() string { return k.of("lease") }

// Pause is the hash of the end of the channel's pause, and its reason.
func (k Keys) Pause() string { return k.of("pause") }

// Pace is the state of the channel's sending pace.
func (k Keys) Pace() string { return k.of("pace") }

// Due is the due index of the limit group on a Redis Cluster; elsewhere it is [DueIndex].
func (k Keys) Due() string { return k.tag + "due" }

// DueBeside returns the due index of the limit group of another key.
func DueBeside(key string) string {
	tag, _, _ := strings.Cut(key, "}")
	return tag + "}:due"
}

// Work is the name of a work of the channel in a due index, for example "send team:alerts".
func (k Keys) Work(kind string) string {
	tag := strings.TrimSuffix(strings.TrimPrefix(k.tag, "relay:{"), "}:")
	return kind + " " + tag + ":" + k.channel
}

// ParseWork returns what [Keys.Work] was made of. The group is never empty, unless the channel is too.
func ParseWork(work string) (kind, group, channel string) {
	kind, names, _ := strings.Cut(work, " ")
	group, channel, _ = strings.Cut(names, ":")
	if group == noName {
		group = ""
	}
	return kind, unescape(group), unescape(channel)
}

func (k Keys) of(kind string) string { return k.tag + kind + ":" + k.channel }

// DueIndex is the sorted set of the work of all channels, by when to look at it next; see due.lua. A Redis Cluster has one
// for each limit group instead, in the slot of its other keys: see [Keys.Due].
const DueIndex = "relay:due"

// The keys of the replicas. They belong to no channel.
const (
	Alive  = "relay:{replicas}:alive"  // sorted set of replicas, by the time of their last heartbeat
	Epoch  = "relay:{replicas}:epoch"  // string that changes only if data was lost
	Levels = "relay:{replicas}:levels" // hash: replica = digest of the windows of its levels
	Texts  = "relay:{replicas}:texts"  // hash: digest = these windows
)

// Workspace returns the names of the keys that all channels with one Slack credential share. Create it with [WorkspaceOf].
type Workspace struct{ tag string }

// WorkspaceOf returns the keys of a workspace, from a hash of its credential.
func WorkspaceOf(hash string) Workspace { return Workspace{"relay:{ws:" + escape(hash) + "}:"} }

// Budget is the state of the workspace's budget of calls of one Slack method.
func (w Workspace) Budget(method string) string { return w.tag + "budget:" + escape(method) }

// Pause is the hash of the end of the credential's pause, and its reason.
func (w Workspace) Pause() string { return w.tag + "pause" }

// ProbeKeys returns the keys of the probe at start: a sorted set, a hash, a string, a stream and a list.
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

// unescape is the inverse of escape.
func unescape(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

func unsafe(r rune) bool {
	return r < 0x20 || r == 0x7f || r == '{' || r == '}' || r == ':' || r == '%'
}

// Silences is the hash of the silences of all channels.
const Silences = "relay:{silences}:all"

// The keys of the channels that templates made.
const (
	Instances     = "relay:{instances}:all"    // hash: channel = "<template>\n<value>"
	InstanceUses  = "relay:{instances}:used"   // sorted set of these channels, by the time of their last use
	InstanceCount = "relay:{instances}:counts" // hash: template = how many channels it made; revision = see instances.lua
)
