package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// resultOf returns a result with these messages and categories.
func resultOf(messages int64, categories ...Category) Result {
	t := newTally(&Setting{}, nil)
	for _, c := range categories {
		t.categories[c.Category] = &counted{Category: c, heard: -1}
		if c.Sent > 0 {
			t.categories[c.Category].heard = 0
		}
	}
	t.Messages, t.Received = messages, 1000
	return t.result()
}

func TestAdviceNamesTheChangeAndItsNumbers(t *testing.T) {
	t.Parallel()
	busy := func(silence float64) Category {
		return Category{Category: "busy", Sent: 10, Dropped: 900, LongestSilence: silence}
	}
	quiet := Category{Category: "quiet", Sent: 1}
	unheard := Category{Category: "quiet", Dropped: 1, Critical: 1}
	fewer := []Change{{Name: "category_limit", From: "10", To: "5"}, {Name: "first_notice.mode", From: "off", To: "auto"}}
	candidates := []Candidate{{Changes: []Change{{"category_limit", "10", "1"}}}, {Changes: fewer}}
	advise := func(present Result, results ...Result) Advice {
		return Advise(present, candidates[:len(results)], results, 30*time.Minute)
	}

	a := advise(resultOf(640, busy(100), unheard), resultOf(100, busy(200), unheard), resultOf(212, busy(240), quiet))
	require.True(t, a.Found)
	require.Equal(t, "With category_limit 5 instead of 10 and first_notice.mode auto instead of off, 212 messages instead of 640 would "+
		"have been posted for 1,000 events; every category would have been heard instead of all but 1, and none would have gone "+
		"unheard for longer than 4 minutes instead of 1 minute 40 seconds.", a.Sentence)
	require.Equal(t, 2, a.Compared)
	best := a.Best()
	require.Equal(t, int64(212), best.Messages)

	a = advise(resultOf(640, busy(100), quiet), resultOf(100, busy(200), unheard))
	require.False(t, a.Found, "a critical event would have gone unheard")
	require.Equal(t, "Nothing better was found: 640 messages for 1,000 events; no category went unheard for longer than 1 minute 40 seconds.",
		a.Sentence)
	require.False(t, advise(resultOf(640, busy(100), quiet), resultOf(100, busy(1801), quiet)).Found, "it would be silent for too long")
	require.True(t, advise(resultOf(640, busy(1801), quiet), resultOf(100, busy(1801), quiet)).Found, "it is silent for that long now")
	critical := quiet
	critical.Critical = 1
	critical.LongestSilence = 1801
	require.False(t, advise(resultOf(640, busy(3000), quiet), resultOf(100, busy(1), critical)).Found, "a critical event would wait")
	require.False(t, advise(resultOf(640, busy(1), quiet), resultOf(600, busy(1), quiet)).Found, "it is hardly less")
}

func TestAdviceOnADayHidesNothing(t *testing.T) {
	t.Parallel()
	trace, err := Generate("day", dayLeast, 3)
	require.NoError(t, err)
	play := func(global, category int64) Result {
		result, err := Play(t.Context(), trace, Setting{Channel: channel(global, category, 30*time.Minute, "")}, noProgress)
		require.NoError(t, err)
		return result
	}
	present, starved := play(100, 10), play(2, 1)
	require.Greater(t, starved.Unheard, present.Unheard)
	require.Less(t, starved.Messages, present.Messages)
	require.False(t, Advise(present, []Candidate{{}}, []Result{starved}, 30*time.Minute).Found)
}

func TestNumbersAndDurationsInWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1,234,567", group(1234567))
	require.Equal(t, "100", group(100))
	require.Equal(t, "1 message", plural(1, "message"))
	for seconds, words := range map[float64]string{
		0: "0 seconds", .25: "250 milliseconds", 1: "1 second", 59.6: "1 minute", 240: "4 minutes", 3660: "1 hour 1 minute",
		90061: "1 day 1 hour", 3599: "59 minutes 59 seconds",
	} {
		require.Equal(t, words, inWords(seconds))
	}
}
