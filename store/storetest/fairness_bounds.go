package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var fairnessBoundsBehaviours = []behaviour{
	{"SingleSlotIsReservedForFirstNotices", testSingleSlotIsReservedForFirstNotices},
	{"CategoryIsSoonerAFirstNoticeThanASlotIsFree", testCategoryIsSoonerAFirstNoticeThanASlotIsFree},
	{"FirstNoticeIsTheFirstOfTheChannelsWindow", testFirstNoticeIsTheFirstOfTheChannelsWindow},
	{"CategoryIsKnownForADay", testCategoryIsKnownForADay},
	{"FirstNoticesCountWhatOthersAdmitted", testFirstNoticesCountWhatOthersAdmitted},
	{"LearnedFirstNoticeIsTheFirstOfTheChannelsWindow", testLearnedFirstNoticeIsTheFirstOfTheChannelsWindow},
}

// notices reserves so many slots for first notices, one for each category.
func notices(slots int64) *ratelimit.Fairness {
	return &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Slots: slots, PerCategory: 1}}
}

func (l Limits) fairRequest(fair *ratelimit.Fairness, id, category string) store.Request {
	r := l.Request(id, category)
	r.Fairness = fair
	return r
}

func testSingleSlotIsReservedForFirstNotices(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(2), Category: PerMinute(2)}
	require.Equal(t, "+-+", Outcomes(b.MustAdmit(t,
		l.fairRequest(notices(1), "1", "a"), l.fairRequest(notices(1), "2", "a"), l.fairRequest(notices(1), "3", "b"))))
}

// The next event of a category fits when a slot is free that is not reserved, or when the category's own events have left the
// window: what comes first.
func testCategoryIsSoonerAFirstNoticeThanASlotIsFree(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(4), Category: PerMinute(4)}
	for _, category := range []string{"a", "b", "c"} {
		b.MustAdmit(t, l.fairRequest(notices(2), category, category))
		b.Advance(10 * time.Second)
	}
	require.Equal(t, 30*time.Second, b.AdmitOne(t, l.fairRequest(notices(2), "again", "a")).RetryAfter)
	require.Equal(t, 40*time.Second, b.AdmitOne(t, l.fairRequest(notices(2), "again", "b")).RetryAfter)
}

// The window of the channel decides what a first notice is, however short that of the category is.
func testFirstNoticeIsTheFirstOfTheChannelsWindow(t *testing.T, start Start) {
	l := Limits{Channel: ratelimit.Window{Limit: 2, Per: time.Hour}, Category: PerMinute(2)}
	for wait, want := range map[time.Duration]string{time.Hour - moment: "-", time.Hour: "+"} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.MustAdmit(t, l.fairRequest(notices(1), "1", "a"))
			b.Advance(wait)
			require.Equal(t, want, Outcomes(b.MustAdmit(t, l.fairRequest(notices(1), "2", "a"))))
		})
	}
}

// A slot is reserved for a category for 24 h after it asked.
func testCategoryIsKnownForADay(t *testing.T, start Start) {
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	for wait, want := range map[time.Duration]store.Outcome{24*time.Hour - moment: store.Dropped, 24 * time.Hour: store.Admitted} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.AdmitOne(t, autoNotice(fair, "1", "rare", 4))
			b.Advance(wait)
			got := b.MustAdmit(t, autoNotice(fair, "2", "heard", 1), autoNotice(fair, "3", "heard", 2))
			require.Equal(t, store.Admitted, got[0].Outcome)
			require.Equal(t, want, got[1].Outcome)
		})
	}
}

func testLearnedFirstNoticeIsTheFirstOfTheChannelsWindow(t *testing.T, start Start) {
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true, Floor: 9}}
	for wait, want := range map[time.Duration]store.Outcome{time.Minute - moment: store.Dropped, time.Minute: store.Admitted} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.MustAdmit(t, autoNotice(fair, "1", "a", 1))
			b.Advance(wait)
			require.Equal(t, want, b.AdmitOne(t, autoNotice(fair, "2", "a", 1)).Outcome)
		})
	}
}

// While one replica reserves slots for first notices, another with a shorter window of the category removes nothing that they
// count.
func testFirstNoticesCountWhatOthersAdmitted(t *testing.T, start Start) {
	b := start(t)
	channel := ratelimit.Window{Limit: 100, Per: time.Hour}
	fair := Limits{Channel: channel, Category: PerMinute(2)}
	plain := Limits{Channel: channel, Category: PerMinute(1000)}
	first := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Slots: 50, PerCategory: 10}}
	b.MustAdmit(t, fair.fairRequest(first, "1", "a"))
	b.MustAdmit(t, With(plain.Request("2", "a"), 50))
	b.Advance(time.Minute)
	b.MustAdmit(t, plain.Request("3", "a"))
	b.Advance(time.Minute)
	require.Equal(t, "-+", Outcomes(b.MustAdmit(t, fair.fairRequest(first, "4", "a"), fair.fairRequest(first, "5", "b"))))
}
