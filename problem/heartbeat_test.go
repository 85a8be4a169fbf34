package problem

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// backup is a heartbeat that is missing after 6 minutes.
var backup = Heartbeat{Name: "backup", Every: 5 * time.Minute, Grace: time.Minute}

// epoch is the store's time at which histories begin, in microseconds.
const epoch = int64(1_790_000_000_000_000)

// history plays one heartbeat in seconds after epoch.
type history struct {
	t     *testing.T
	terms Heartbeat
	watch Watch
	state HeartbeatState
	now   int64 // microseconds
	news  []string
}

// newHistory begins with a document that was made now, and somebody who watches.
func newHistory(t *testing.T, terms Heartbeat) *history {
	t.Helper()
	h := &history{t: t, terms: terms, now: epoch}
	h.watch = h.watch.Tick(h.now, false)
	h.state = terms.NewState(h.watch, h.now)
	return h
}

func at(seconds float64) int64 { return epoch + int64(seconds*1e6) }

// watchUntil ticks every 2 s, and looks at the document as soon as it is due.
func (h *history) watchUntil(seconds float64) {
	for h.now < at(seconds) {
		h.now = min(at(seconds), h.now+2_000_000)
		h.watch = h.watch.Tick(h.now, false)
		if h.now >= h.terms.Wake(h.state, h.watch, h.now) {
			h.check()
		}
	}
}

// sleepUntil passes time in which nobody watches.
func (h *history) sleepUntil(seconds float64) { h.now = at(seconds) }

func (h *history) check() {
	h.state = h.terms.Check(h.state, h.watch, h.now)
	h.announce()
}

func (h *history) beat() { h.beatOf(h.now) }

func (h *history) beatOf(arrived int64) {
	h.state = h.terms.Beat(h.state, h.watch, h.now, arrived)
	h.announce()
}

func (h *history) announce() {
	for _, news := range h.state.News {
		word := "missing"
		if news.Back {
			word = "back"
		}
		h.news = append(h.news, fmt.Sprintf("%s at %d", word, (news.At-epoch)/1_000_000))
	}
	h.state.News = nil
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		play func(h *history)
		want []string
	}{
		{"never seen", func(h *history) { h.watchUntil(1000) }, []string{"missing at 360"}},
		{"in time", func(h *history) {
			for i := 1; i < 10; i++ {
				h.watchUntil(float64(i) * 355)
				h.beat()
			}
		}, nil},
		{"missing and back", func(h *history) {
			h.watchUntil(100)
			h.beat()
			h.watchUntil(900)
			h.beat()
			h.watchUntil(1000)
		}, []string{"missing at 460", "back at 900"}},
		{"said once however long it is missing", func(h *history) { h.watchUntil(200_000) }, []string{"missing at 360"}},
		{"nobody watched for longer than a period", func(h *history) {
			h.watchUntil(100)
			h.beat()
			h.sleepUntil(4000)
			h.watchUntil(4500)
			h.beat()
		}, nil},
		{"a beat was lost in a short gap", func(h *history) {
			h.watchUntil(10)
			h.beat()
			h.watchUntil(305)
			h.sleepUntil(315) // the beat at 310
			h.watchUntil(610)
			h.beat()
		}, nil},
		{"a short gap does not hide a sender that stopped", func(h *history) {
			h.watchUntil(10)
			h.beat()
			h.watchUntil(305)
			h.sleepUntil(315)
			h.watchUntil(1000)
		}, []string{"missing at 683"}}, // 10 + 360 + 300, and 12 s without a tick
		{"gaps again and again do not hide it either", func(h *history) {
			for i := 1; i < 40; i++ {
				h.watchUntil(float64(i) * 60)
				h.sleepUntil(float64(i)*60 + 10)
			}
		}, []string{"missing at 816"}},
		{"the clock goes ahead by an hour", func(h *history) {
			h.watchUntil(100)
			h.now += time.Hour.Microseconds()
			h.watchUntil(3600 + 350)
			h.beat()
		}, nil},
		{"the clock goes back by an hour", func(h *history) {
			h.watchUntil(100)
			h.beat()
			h.now -= time.Hour.Microseconds()
			h.watchUntil(-3600 + 100 + 650)
			h.beat()
			h.watchUntil(-3600 + 100 + 650 + 359)
		}, nil},
		{"the clock goes back by an hour, and the sender stops", func(h *history) {
			h.watchUntil(100)
			h.now -= time.Hour.Microseconds()
			h.watchUntil(0)
		}, []string{"missing at -2938"}}, // 360 + 300 - 3600, and a tick
		{"the watch is lost", func(h *history) {
			h.watchUntil(350)
			h.watch = Watch{}
			h.watchUntil(700)
			h.beat()
		}, nil},
		{"a beat of an outage is written afterwards", func(h *history) {
			h.watchUntil(10)
			h.beat()
			h.sleepUntil(1000)
			h.watch = h.watch.Tick(h.now, true)
			h.beatOf(at(980))
			h.watchUntil(980 + 359)
		}, nil},
		{"a beat of an outage is too old to end an alarm", func(h *history) {
			h.watchUntil(500)
			h.beatOf(at(100))
			h.watchUntil(600)
		}, []string{"missing at 360"}},
		{"an older beat changes nothing", func(h *history) {
			h.watchUntil(200)
			h.beat()
			h.beatOf(at(100))
			require.Equal(h.t, at(200), h.state.Seen)
		}, nil},
		{"its document was out of reach at the due time, once", func(h *history) {
			for h.now < at(500) {
				h.now += 2_000_000
				h.watch = h.watch.Tick(h.now, false)
			}
			h.check() // 140 s late
			h.watchUntil(2000)
		}, []string{"missing at 860"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, backup)
			test.play(h)
			require.Equal(t, test.want, h.news)
		})
	}
}

func TestShorterTermsBeginWithANewPeriod(t *testing.T) {
	t.Parallel()
	h := newHistory(t, backup)
	wake := h.terms.Wake(h.state, h.watch, h.now)
	h.watchUntil(200)
	h.terms.Every = time.Minute
	require.True(t, h.terms.Shortened(h.state, h.watch, h.now, wake))
	h.state = h.terms.Renew(h.state, h.watch, h.now)
	require.Equal(t, at(200+120), h.terms.Wake(h.state, h.watch, h.now))

	h.terms.Every = time.Hour
	require.False(t, h.terms.Shortened(h.state, h.watch, h.now, at(320)), "longer terms count from the last beat")
}

func TestNewsThatCannotBePostedAreBounded(t *testing.T) {
	t.Parallel()
	h := newHistory(t, backup)
	for range 100 {
		h.now = h.terms.Wake(HeartbeatState{From: h.state.From, Watch: h.state.Watch, Gaps: h.state.Gaps}, h.watch, h.now)
		h.watch.Until = h.now
		h.state = h.terms.Check(h.state, h.watch, h.now)
		h.now += 1_000_000
		h.state = h.terms.Beat(h.state, h.watch, h.now, h.now)
	}
	require.Len(t, h.state.News, maxNews)
	for i, news := range h.state.News {
		require.Equal(t, i%2 == 1, news.Back, "missing and back alternate")
	}
}

// TestRandomHistories plays senders that beat in time and then stop, while nobody watches from time to time, the store is away, and
// its clock is set. While a sender beats, it is missing only if it lost beats in two gaps or more since the one that arrived last.
// Once it stopped, it is missing after the time that was promised.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	const histories = 5000
	for seed := range uint64(histories) {
		random := rand.New(rand.NewPCG(seed, 16))
		terms := Heartbeat{Every: time.Duration(30+random.IntN(600)) * time.Second, Grace: time.Duration(random.IntN(120)) * time.Second}
		playRandom(t, newHistory(t, terms), random, seed)
	}
}

func playRandom(t *testing.T, h *history, random *rand.Rand, seed uint64) {
	t.Helper()
	every := h.terms.Every.Microseconds()
	next := h.now + random.Int64N(every)            // the next beat
	stops := h.now + every*int64(5+random.IntN(20)) // the last beat is before
	gapsSince, watched := 0, int64(0)               // since the last beat that arrived
	for h.now < stops || h.state.Missing == 0 {
		step := int64(500_000 + random.IntN(2_000_000))
		gap := random.IntN(80) == 0
		if gap {
			step = int64(random.IntN(900)) * 1_000_000
		}
		gap = gap && step > MaxGap.Microseconds()
		until := h.now + step
		for next < min(until, stops) {
			if !gap {
				h.now = next
				h.watch = h.watch.Tick(h.now, false)
				h.beat()
				gapsSince, watched = 0, 0
			}
			next += every/2 + random.Int64N(every/2)
		}
		if gap {
			gapsSince++
		} else {
			watched += step
		}
		h.now = until
		if random.IntN(400) == 0 {
			jump := random.Int64N(2*every) - every
			h.now, next, stops = h.now+jump, next+jump, stops+jump
			gapsSince++
			watched -= step // it ended in another time than it began
		}
		h.watch = h.watch.Tick(h.now, false)
		if h.now >= h.terms.Wake(h.state, h.watch, h.now) {
			h.check()
		}
		if h.now < stops && gapsSince < 2 && h.state.Missing == h.now {
			require.FailNow(t, "a false alarm", "seed %d", seed)
		}
		if h.state.Missing == 0 && watched > 2*every+h.terms.Grace.Microseconds()+10_000_000 {
			require.FailNow(t, "no alarm", "seed %d", seed)
		}
	}
}
