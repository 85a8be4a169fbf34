package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// A command of Redis takes a bounded number of arguments: what is more needs several.
var manyBehaviours = []behaviour{
	{"ManyRestoredMessagesKeepAllThatIsKnown", testManyRestoredMessagesKeepAllThatIsKnown},
	{"ManyBucketsAreKept", testManyBucketsAreKept},
	{"ManyUnitsAreMovedAfterAStep", testManyUnitsAreMovedAfterAStep},
	{"LastAdmissionsOfAThousandCategoriesAreKnown", testLastAdmissionsOfAThousandCategoriesAreKnown},
}

func testManyRestoredMessagesKeepAllThatIsKnown(t *testing.T, start Start) {
	e := afterOutage(start(t))
	const n = 100
	requests, pasts := make([]store.Request, n), make([]*store.OutageResult, n)
	for i := range requests {
		requests[i] = wide.Request(fmt.Sprint(i), "c")
		pasts[i] = &store.OutageResult{
			Age: 90e6, Attempts: 3, Faults: 2, FirstAttempt: 60e6, LastAttempt: 50e6, Lookups: 1, Name: fmt.Sprintf("%d@1700000000000000", i+1),
		}
	}
	e.restore(t, requests, pasts...)
	for i := range requests {
		entry := e.claim(t, 0).Entry
		require.Equal(t, store.Entry{
			Number: int64(i + 1), Kind: "message", Payload: requests[i].Enqueue.Payload, Attempts: 3, Faults: 2, Age: 90 * time.Second,
			AdmittedAt: StartTime.Add(-90 * time.Second).UnixMicro(), Lookups: 1, Name: pasts[i].Name, UnknownSince: entry.UnknownSince,
		}, entry)
		require.Equal(t, StartTime.Add(-time.Minute).UnixMicro(), entry.UnknownSince.UnixMicro())
		require.NoError(t, e.C.Ack(t.Context(), Scope, entry, store.Receipt{}))
	}
}

func testManyBucketsAreKept(t *testing.T, start Start) {
	b := start(t)
	level := channelLevel(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Millisecond}, PerMinute(10_000))
	const n = 520
	for i := range n {
		b.MustAdmit(t, atLevel(level, fmt.Sprint(i), 1))
		b.Advance(time.Millisecond)
	}
	require.Equal(t, int64(n), b.Used(t, level))
}

// After a step of the clock all units are moved, and each is found where it is refunded.
func testManyUnitsAreMovedAfterAStep(t *testing.T, start Start) {
	b := start(t)
	level := channelLevel(ratelimit.Strategy{}, PerMinute(1_202))
	b.MustAdmit(t, atLevel(level, "a", 1_200), atLevel(level, "b", 2))
	b.Advance(-time.Hour)
	require.Equal(t, time.Minute, b.AdmitOne(t, atLevel(level, "c", 1)).RetryAfter)
	b.refund(t, atLevel(level, "b", 2))
	require.Equal(t, int64(1_200), b.Used(t, level))
	b.Advance(time.Minute - moment)
	require.Equal(t, int64(1_200), b.Used(t, level))
	b.Advance(moment)
	require.Zero(t, b.Used(t, level))
}

// A digest knows when something of a thousand categories was last admitted: of more, it names none that may have been heard.
func testLastAdmissionsOfAThousandCategoriesAreKnown(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
	admit := func(from, n int) {
		requests := make([]store.Request, n)
		for i := range requests {
			category := fmt.Sprintf("c%04d", from+i)
			requests[i] = wide.AlertRequest(h, category, category, "", "")
			requests[i].Enqueue = nil
		}
		b.MustAdmit(t, requests...)
		b.Advance(time.Millisecond)
	}
	admit(0, 1)
	admit(1, 1)
	for from := 2; from < 998; from += 83 {
		admit(from, 83)
	}
	admit(998, 3)
	for _, category := range []string{"c0000", "c0001"} {
		b.DropForDigest(t, category, 1)
	}
	require.Empty(t, b.digestAtTheEnd(t).Silent)
}
