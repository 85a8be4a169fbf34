package lua_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

// call is one call of a script.
type call struct {
	script *redis.Script
	keys   []string
	args   []any
}

var k = lua.KeysOf("g", "ch")

// admitting is a call of admit.lua with all options. Each event has eleven fields.
func admitting(mode, overflow, strategy string, restored bool, events ...any) call {
	keys := []string{
		k.Seen(), k.Ledger(), "relay:{g}:series:ch:1", k.Outbox(), k.Entries(), "relay:{g}:minutes:ch:1", lua.DueIndex,
		k.ChannelLimit(strategy), k.ValueLimit("sliding-log", "category", "a"), k.Known(), k.AdmittedCategories(),
	}
	if restored {
		keys = append(keys, k.MergeSequences(), k.Dead())
	}
	keys = append(keys, k.Extras(), k.Posted(), k.Aged(), k.Drops(), k.Digest(), k.LastAdmitted(), k.Delayed())
	plan := `["` + mode + `",3600000000,[["` + strategy + `",1,0,3,60000000],["sliding-log",0,0,2,60000000]],[["a",0,2,1,2]],` +
		`{"floor":0},"replica",1,{"overflow":"` + overflow + `","most":5,"age":1,"resolves":"edit","repeats":true,"digest":true,` +
		`"drops":10,"posted":3600000000,"every":0,"names":["channel","category"]}]`
	scripts := map[string]*redis.Script{"admit": lua.Admit, "promote": lua.Promote, "restore": lua.Restore, "force": lua.Force}
	return call{scripts[mode], keys, append([]any{plan}, events...)}
}

func event(id, status, fingerprint, delayed string) []any {
	return []any{id, 1, 1, `message {"id":"` + id + `"}`, "", status, fingerprint, "warning", "title", delayed, ""}
}

// admittingOne admits one firing event, for the scripts that need an entry.
func admittingOne() call {
	return admitting("admit", "drop", "sliding-log", false, event("one", "firing", "f1", "")...)
}

func claiming() call {
	return call{
		lua.Claim,
		[]string{k.Lease(), k.Pause(), k.Pace(), k.Outbox(), k.Entries(), k.Extras(), k.Digest(), lua.DueIndex},
		[]any{"me", 10000000, 1000000, 3, 3600000000, 0, 1800000000, 0, 1, 0, 1, 0, 0},
	}
}

func completing(script *redis.Script, more string) call {
	other := lua.KeysOf("g", "copy")
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Ledger(), k.Posted(), k.Aged(), k.Dead(), k.Digest(), lua.DueIndex}
	if strings.Contains(more, "copy") {
		keys = append(keys, other.Extras(), other.Entries())
	}
	return call{script, append(keys, k.ChannelLimit("backlog-list")), []any{"me", "1", admittedAt, 1, more}}
}

// acknowledging acknowledges the first entry, and claims the second.
func acknowledging() call {
	c := claiming()
	c.script, c.keys = lua.AckClaim, append(c.keys, k.Ledger(), k.Posted(), k.ChannelLimit("backlog-list"))
	c.args[10] = 2
	c.args = append(c.args, "1", admittedAt, "C", "1")
	return c
}

func merging() call {
	return call{
		lua.MergeCounts,
		[]string{
			k.Ledger(), "relay:{g}:series:ch:1", k.MergeSequences(), k.Drops(), k.Digest(), "relay:{g}:minutes:ch:1", lua.DueIndex, k.Known(),
		},
		[]any{"replica", 1, `{
			"totals": {"dropped": 1}, "categories": {"a": 1}, "noted": {"d:a:warning": 1},
			"keep": 9, "drops": [["{}", "a", "channel", "1", "1", "5"]]
		}`},
	}
}

// savingProblem saves a new document that wakes at a time.
func savingProblem(name string, wake int) call {
	return call{
		lua.SaveProblems,
		[]string{k.Problems(), k.ProblemNames(), k.ProblemWakes(), k.ProblemEnds(), k.Ledger(), lua.DueIndex},
		[]any{10, 1000, 1000000, `{"received":1,"muted":1}`, name, 0, "data", wake, 1000000},
	}
}

func heartbeating(replica string) call {
	return call{
		lua.Heartbeat,
		[]string{lua.Alive, lua.Epoch, lua.Levels, lua.Texts},
		[]any{replica, 10000000, "epoch", 0, "of " + replica, "text"},
	}
}

// writers are calls of every script that writes more than one key, each after the calls that prepare its data.
func writers() map[string][]call {
	batch := slices.Concat(
		event("two", "firing", "f1", ""), event("three", "", "", ""), event("four", "", "", ""), event("five", "firing", "f5", ""),
	)
	restored := append(event("one", "firing", "f1", ""), `{"result":"failed","keep":3}`)
	retry := call{
		lua.Retry,
		[]string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Pause(), lua.DueIndex},
		[]any{"me", "1", admittedAt, 1, 1000000, "why", 1, "channel", "not-posted"},
	}
	refund := func(strategy string) call {
		return call{
			lua.Refund,
			[]string{k.Seen(), k.Refunds(), k.Delayed(), lua.DueIndex, k.ValueLimit("sliding-log", "category", "a"), k.ChannelLimit(strategy)},
			[]any{"one", 1, 3600000000, "sliding-log", 0, strategy, 1},
		}
	}
	digest := call{
		lua.PostDigest,
		[]string{k.Digest(), k.LastAdmitted(), k.Extras(), k.Entries(), k.Posted(), k.Aged(), lua.DueIndex},
		[]any{"ch", 1, 1, 1},
	}
	notice := call{lua.Append, []string{k.Extras(), k.Entries(), k.NoticeIDs(), lua.DueIndex}, []any{"id", "notice", "{}", 1000000}}
	all := map[string][]call{
		"admit":        {admittingOne(), claiming(), admitting("admit", "drop", "sliding-log", false, batch...)},
		"admit, delay": {admittingOne(), admitting("admit", "delay", "gcra", false, batch...)},
		"admit, merge": {admittingOne(), claiming(), admitting("admit", "merge", "sliding-buckets", false, batch...)},
		"promote": {
			admitting("admit", "delay", "sliding-log", false, batch...),
			admitting("promote", "delay", "sliding-log", false, event("four", "", "", "3")...),
		},
		"restore":            {admitting("restore", "drop", "fixed-window", true, restored...)},
		"merge_counts":       {merging()},
		"claim":              {admittingOne(), claiming()},
		"ack":                {admittingOne(), claiming(), completing(lua.Ack, `{"ts":"1","channel":"C"}`)},
		"ack_claim":          {admitting("admit", "drop", "sliding-log", false, batch...), claiming(), acknowledging()},
		"bury":               {admittingOne(), claiming(), completing(lua.Bury, `{"keep":3,"forget":true,"copy":true}`)},
		"expire":             {admittingOne(), claiming(), completing(lua.Expire, `{"noted":{"x:a:warning":1}}`)},
		"retry":              {admittingOne(), claiming(), retry},
		"release":            {admittingOne(), claiming(), {lua.Release, []string{k.Lease(), lua.DueIndex}, []any{"me"}}},
		"append":             {notice},
		"digest":             {merging(), digest},
		"refund, log":        {admittingOne(), refund("sliding-buckets")},
		"heartbeat":          {heartbeating("replica"), heartbeating("other")},
		"budget":             {{lua.BudgetReserve, []string{lua.WorkspaceOf("x").Budget("post"), lua.WorkspaceOf("x").Pause()}, []any{60, 1}}},
		"refund, log and it": {admitting("admit", "drop", "fixed-window", false, event("one", "firing", "f1", "")...), refund("fixed-window")},
	}
	all["save_problems"] = []call{savingProblem("p/1", 0)}
	all["due_problems"] = []call{savingProblem("p/1", 1), {
		lua.DueProblems, []string{k.Problems(), k.ProblemWakes(), lua.DueIndex}, []any{10, 1000000, 1000000},
	}}
	for _, strategy := range []string{"fixed-window", "sliding-counter", "gcra", "gate", "backlog-stream", "backlog-list", "sliding-buckets"} {
		all["admit, "+strategy] = []call{admitting("admit", "drop", strategy, false, batch...)}
	}
	return all
}

// admittedAt stands for the time when the first entry was admitted.
const admittedAt = "<admitted at>"

func (c call) run(ctx context.Context, client *redis.Client) error {
	args := slices.Clone(c.args)
	if i := slices.Index(args, any(admittedAt)); i >= 0 {
		args[i], _, _ = strings.Cut(client.HGet(ctx, k.Entries(), "1").Val(), " ")
	}
	return c.script.Run(ctx, client, c.keys, args...).Err()
}

// Each key in turn has another type: the script names the key and writes nothing, or it does not need the key.
func TestScriptThatMeetsAWrongTypeWritesNothing(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	ctx := t.Context()
	untouched := map[string][]string{}
	for name, calls := range writers() {
		last := calls[len(calls)-1]
		for _, key := range last.keys {
			require.NoError(t, client.FlushDB(ctx).Err())
			for _, before := range calls[:len(calls)-1] {
				require.NoError(t, before.run(ctx, client), name)
			}
			require.NoError(t, client.Del(ctx, key).Err())
			require.NoError(t, client.SAdd(ctx, key, "something else").Err())
			before, err := redistest.Dump(ctx, client, "*")
			require.NoError(t, err)

			err = last.run(ctx, client)
			if err == nil {
				untouched[name] = append(untouched[name], key)
				require.Equal(t, "set", client.Type(ctx, key).Val(), "%s: %s", name, key)
				continue
			}
			require.ErrorContains(t, err, "WRONGTYPE", "%s: %s", name, key)
			require.ErrorContains(t, lua.WrongType(ctx, client, last.keys, err), "the key "+key+" holds a set where", name)
			after, err := redistest.Dump(ctx, client, "*")
			require.NoError(t, err)
			require.Equal(t, before, after, "%s: %s", name, key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(untouched)) {
		t.Logf("%s: needs none of %v", name, untouched[name])
	}
	require.Equal(t, []string{k.Delayed()}, untouched["admit"], "nothing may be delayed there")
	require.Empty(t, untouched["merge_counts"])
	require.Empty(t, untouched["append"])
	require.Empty(t, untouched["retry"])
	require.Empty(t, untouched["digest"])
	require.Empty(t, untouched["heartbeat"])
}

func TestTypeOfIsTheTypeThatTheScriptsUse(t *testing.T) {
	t.Parallel()
	require.Empty(t, lua.TypeOf("another program's"))
	for name, want := range map[string]string{
		k.Seen(): "zset", k.Ledger(): "hash", k.Dead(): "stream", k.Pace(): "string", lua.Epoch: "string",
		lua.DueIndex: "zset", k.Due(): "zset", lua.Alive: "zset", lua.Levels: "hash",
		k.ChannelLimit("sliding-log"): "zset", k.ChannelLimit("backlog-list"): "list", k.ValueLimit("gcra", "category", "a"): "hash",
	} {
		require.Equal(t, want, lua.TypeOf(name), name)
	}
}
