package store_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// data is all that an engine keeps. It can be looked at, and go back to what it was, as a Redis does that restarts
// with the last moments missing, fails over, or is restored from a backup.
type data interface {
	// save returns what brings back what is there now.
	save(tb testing.TB) (restore func())
	// all is everything but the leases, to be compared.
	all(tb testing.TB) any
}

type redisData struct{ client *redis.Client }

func (d redisData) save(tb testing.TB) func() {
	tb.Helper()
	type kept struct {
		key, dump string
		ttl       time.Duration
	}
	var saved []kept
	for _, key := range d.keys(tb) {
		dump, err := d.client.Dump(tb.Context(), key).Result()
		require.NoError(tb, err)
		saved = append(saved, kept{key, dump, max(0, d.client.PTTL(tb.Context(), key).Val())})
	}
	return func() {
		for _, key := range d.keys(tb) {
			require.NoError(tb, d.client.Del(tb.Context(), key).Err())
		}
		for _, k := range saved {
			require.NoError(tb, d.client.Restore(tb.Context(), k.key, k.ttl, k.dump).Err())
		}
	}
}

func (d redisData) keys(tb testing.TB) []string {
	tb.Helper()
	keys, err := d.client.Keys(tb.Context(), "relay:*").Result()
	require.NoError(tb, err)
	return keys
}

func (d redisData) all(tb testing.TB) any {
	tb.Helper()
	all, err := redistest.Dump(tb.Context(), d.client, "*")
	require.NoError(tb, err)
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.Contains(key, ":lease:") })
	return all
}

type memoryData struct{ store *memory.Data }

// values is the map that the store keeps everything in.
func (d memoryData) values() reflect.Value {
	return exposed(reflect.ValueOf(d.store).Elem().FieldByName("values"))
}

func (d memoryData) save(testing.TB) func() {
	saved := deepCopy(d.values(), map[unsafe.Pointer]reflect.Value{})
	return func() { d.values().Set(saved) }
}

func (d memoryData) all(testing.TB) any {
	all := deepCopy(d.values(), map[unsafe.Pointer]reflect.Value{})
	for _, key := range all.MapKeys() {
		if strings.Contains(key.String(), ":lease:") {
			all.SetMapIndex(key, reflect.Value{})
		}
	}
	return all.Interface()
}

// exposed is a field that may be read and set although it is not exported.
func exposed(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// deepCopy copies what hangs together, pointers to the same thing as pointers to the same copy.
func deepCopy(v reflect.Value, seen map[unsafe.Pointer]reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if known, ok := seen[v.UnsafePointer()]; ok {
			return known
		}
		twin := reflect.New(v.Type().Elem())
		seen[v.UnsafePointer()] = twin
		twin.Elem().Set(deepCopy(v.Elem(), seen))
		return twin
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return deepCopy(v.Elem(), seen)
	case reflect.Struct:
		twin := reflect.New(v.Type()).Elem()
		twin.Set(v)
		for i := range v.NumField() {
			if field := exposed(twin.Field(i)); v.Type() != reflect.TypeFor[time.Time]() {
				field.Set(deepCopy(field, seen))
			}
		}
		return twin
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		twin := reflect.MakeMap(v.Type())
		for each := v.MapRange(); each.Next(); {
			twin.SetMapIndex(each.Key(), deepCopy(each.Value(), seen))
		}
		return twin
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		twin := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			twin.Index(i).Set(deepCopy(v.Index(i), seen))
		}
		return twin
	default:
		return v
	}
}

// reused is an entry of which the store forgot that it ever was, and the one that has its number now: nobody knows
// whether that was posted, and it is in a backlog.
func (b bundle) reused(t *testing.T, extra bool) (old store.Entry, where store.Channel) {
	t.Helper()
	level := store.LevelOf(ratelimit.LevelSpec{
		Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.Stream},
		Windows: []ratelimit.Window{{Limit: 3, Per: time.Second}},
	}, scope, "")
	where = channel
	terms := lookable
	terms.Backlog = level.Key
	add := func(id string) store.Entry {
		if extra {
			require.NoError(t, b.b.Append(t.Context(), where, id, store.KindNotice, []byte(id)))
			return claim(t, b.a, terms).Entry
		}
		_, err := b.limiter.Admit(t.Context(), scope, []store.Request{{
			ID: id, Category: "c", Levels: []ratelimit.Level{level}, Policy: &store.MessagePolicy{Overflow: "merge", Resolves: "edit"},
			Event:   store.Event{Status: store.Firing, Fingerprint: "f", Severity: "error", Title: id},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(id)},
		}})
		require.NoError(t, err)
		return claim(t, b.a, terms).Entry
	}
	require.NoError(t, b.a.Ack(t.Context(), where, add("before"), store.Receipt{}))
	restore := b.data.save(t)
	b.advance(time.Second)
	old = add("old")
	restore()
	b.advance(time.Second)
	fresh := add("new")
	require.Equal(t, []any{old.Number, "old", "new"}, []any{fresh.Number, string(old.Payload), string(fresh.Payload)})
	require.NotEqual(t, old.AdmittedAt, fresh.AdmittedAt)
	require.NoError(t, b.a.Retry(t.Context(), where, fresh, store.RetryPlan{State: store.MaybePosted}))
	return old, where
}

// settlements are all ways to settle an entry.
func settlements(t *testing.T, where store.Channel) map[string]func(o store.Outbox, entry store.Entry) error {
	t.Helper()
	fallback := store.Channel{Group: "alerts", Name: "alerts~fallback"}
	retry := func(p store.RetryPlan) func(o store.Outbox, entry store.Entry) error {
		return func(o store.Outbox, entry store.Entry) error { return o.Retry(t.Context(), where, entry, p) }
	}
	return map[string]func(o store.Outbox, entry store.Entry) error{
		"ack": func(o store.Outbox, entry store.Entry) error {
			return o.Ack(t.Context(), where, entry, store.Receipt{Channel: "C1", TS: "1.000001"})
		},
		"bury": func(o store.Outbox, entry store.Entry) error {
			return o.Bury(t.Context(), where, entry, store.DeadReason{Reason: "is_archived", Answer: "no", CopyTo: &fallback})
		},
		"expire": func(o store.Outbox, entry store.Entry) error {
			return o.Expire(t.Context(), where, entry, map[string]int64{"x:c:error": 1, "t:old": 1})
		},
		"drop":              func(o store.Outbox, entry store.Entry) error { return o.Discard(t.Context(), where, entry) },
		"retry, not posted": retry(store.RetryPlan{Wait: time.Hour, Reason: "rate_limited", Fault: true}),
		"retry, looked up":  retry(store.RetryPlan{State: store.NotFound, Waits: store.EntryWaits}),
		"retry, once more":  retry(store.RetryPlan{State: store.SendAgain, Waits: store.EditsWait, Wait: time.Hour}),
		"retry, unknown":    retry(store.RetryPlan{State: store.MaybePosted, Waits: store.EntryWaits, Wait: time.Hour}),
	}
}

// Redis came back older than it was, and gave a number again: what becomes of the old message says nothing of the
// new one.
func TestANumberThatWasGivenAgain(t *testing.T) {
	t.Parallel()
	for says, extra := range map[string]bool{"message": false, "extra": true} {
		for how := range settlements(t, channel) {
			t.Run(how+" of a "+says, func(t *testing.T) {
				t.Parallel()
				onEvery(t, func(t *testing.T, b bundle) {
					old, where := b.reused(t, extra)
					before := b.data.all(t)
					require.NoError(t, settlements(t, where)[how](b.a, old), "it is gone")
					require.Equal(t, before, b.data.all(t), "and nothing was changed")
					require.Equal(t, store.AwaitingLookup, claim(t, b.b, lookable).State)
					b.advance(lookable.LookupDelay)
					fresh := claim(t, b.b, lookable).Entry
					require.Equal(t, []any{"new", int64(1), int64(0)}, []any{string(fresh.Payload), fresh.Attempts, fresh.Faults})
					require.NoError(t, b.b.Ack(t.Context(), where, fresh, store.Receipt{}))
				})
			})
		}
	}
}

// Another sender claimed the entry since and does not hold the lease any more: its attempt may have been posted, so
// only what certainly is in Slack is settled.
func TestAClaimThatAnotherFollowed(t *testing.T) {
	t.Parallel()
	for how := range settlements(t, channel) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			onEvery(t, func(t *testing.T, b bundle) {
				require.NoError(t, b.a.Append(t.Context(), channel, "1", store.KindNotice, []byte("1")))
				late := claim(t, b.a, lookable).Entry
				b.advance(10 * time.Second)
				followed := claim(t, b.b, lookable).Entry
				require.NoError(t, b.b.Retry(t.Context(), channel, followed, store.RetryPlan{State: store.MaybePosted}))
				before := b.data.all(t)
				err := settlements(t, channel)[how](b.a, late)
				if how == "ack" {
					require.NoError(t, err)
					require.Equal(t, store.Empty, claim(t, b.b, lookable).State)
					return
				}
				require.ErrorIs(t, err, store.ErrLeaseLost)
				require.Equal(t, before, b.data.all(t))
			})
		})
	}
}

// A sender that knows that its attempt may have been posted says so to a Redis that forgot the claim: the message is
// looked up, from its admission on.
func TestADoubtThatWasForgotten(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		restore := b.data.save(t)
		b.advance(time.Second)
		tried := claim(t, b.a, lookable).Entry
		restore()
		require.NoError(t, b.a.Retry(t.Context(), channel, tried, store.RetryPlan{State: store.MaybePosted}))
		require.Equal(t, store.AwaitingLookup, claim(t, b.b, lookable).State)
		b.advance(lookable.LookupDelay)
		require.Equal(t, time.UnixMicro(tried.AdmittedAt), claim(t, b.b, lookable).Entry.UnknownSince)
	})
}

// What was listed to be asked for again, and has another's number by then, is not asked for in its place.
func TestADelayedNumberThatWasGivenAgain(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &store.MessagePolicy{Overflow: "delay", Resolves: "post", MaxDelayed: 3, MaxDelay: time.Hour}
		ask := func(id string, delayed int64) store.Outcome {
			d, err := b.limiter.Admit(t.Context(), scope, []store.Request{{
				ID: id, Category: "c", Policy: h, Delayed: delayed, Event: store.Event{Severity: "error", Title: id},
				Levels:  []ratelimit.Level{store.NewChannelLevel("alerts", ratelimit.Window{Limit: 1, Per: time.Minute})},
				Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(id)},
			}})
			require.NoError(t, err)
			return d[0].Outcome
		}
		listed := func() store.DelayedMessage {
			all, err := b.a.Delayed(t.Context(), channel)
			require.NoError(t, err)
			require.Len(t, all, 1)
			return all[0]
		}
		require.Equal(t, store.Admitted, ask("first", 0))
		restore := b.data.save(t)
		require.Equal(t, store.Delayed, ask("old", 0))
		old := listed()
		restore()
		require.Equal(t, store.Delayed, ask("new", 0))
		fresh := listed()
		require.Equal(t, old.Number, fresh.Number)
		b.advance(2 * time.Minute)
		require.Equal(t, store.Duplicate, ask("old", old.Number), "it does not wait any more")
		require.Equal(t, fresh, listed())
		require.Equal(t, store.Admitted, ask("new", fresh.Number))
	})
}
