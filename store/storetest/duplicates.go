package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var duplicatesBehaviours = []behaviour{
	{"DuplicatesAreFree", testDuplicatesAreFree},
	{"DroppedIDMayComeAgain", testDroppedIDMayComeAgain},
	{"ForgottenIDIsChargedAgain", testForgottenIDIsChargedAgain},
}

func testDuplicatesAreFree(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(3), Category: PerMinute(3)}
	require.Equal(t, "+=+", Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("1", "a"), l.Request("2", "a"))))
	b.Advance(30 * time.Second)
	require.Equal(t, "=", Outcomes(b.MustAdmit(t, l.Request("1", "a"))))
	require.Equal(t, store.Ledger{Received: 4, Admitted: 2, Duplicate: 2, Pending: 2}, b.MustReport(t).Ledger)
}

func testDroppedIDMayComeAgain(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	require.Equal(t, "+-", Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
	b.Advance(time.Minute)
	require.Equal(t, "+", Outcomes(b.MustAdmit(t, l.Request("2", "a"))))
}

// In a window that is longer than ids are remembered, both requests with the same id count.
func testForgottenIDIsChargedAgain(t *testing.T, start Start) {
	b := start(t)
	long := ratelimit.Window{Limit: 2, Per: 6 * time.Hour}
	l := Limits{Channel: long, Category: long}
	b.MustAdmit(t, l.Request("1", "a"))
	b.Advance(time.Hour - time.Microsecond)
	require.Equal(t, "=", Outcomes(b.MustAdmit(t, l.Request("1", "a"))))
	b.Advance(time.Microsecond)
	require.Equal(t, "+-", Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
	require.Equal(t, int64(2), b.MustReport(t).Ledger.Pending)
}
