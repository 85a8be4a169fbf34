package server_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// deliver admits an event of a channel and delivers it.
func (m manyChannels) deliver(t *testing.T, channel int) {
	t.Helper()
	name := fmt.Sprintf("c%03d", channel)
	_, err := m.intake.Admit(t.Context(), pipeline.Arrival{
		Channel: name, Events: []events.Event{{ID: time.Now().String(), Title: "x", Category: "a"}},
	})
	require.NoError(t, err)
	m.drain(t, name)
}

func (m manyChannels) drain(t *testing.T, channel string) {
	t.Helper()
	scope := store.Channel{Name: channel}
	for {
		claim, err := m.limiter.Claim(t.Context(), scope, store.Terms{Pace: store.Pace{Burst: 1}}, false)
		require.NoError(t, err)
		if claim.State != store.Claimed {
			return
		}
		require.NoError(t, m.limiter.Ack(t.Context(), scope, claim.Entry, store.Receipt{}))
	}
}

// scrape returns the samples of a metric, by channel.
func (m manyChannels) scrape(t *testing.T, metric string) map[string]float64 {
	t.Helper()
	status, answer := m.get("/metrics")
	require.Equal(t, 200, status, answer)
	samples := map[string]float64{}
	for _, sample := range regexp.MustCompile(`(?m)^`+metric+`\{.*?channel="([^"]*)".*\} (\S+)$`).FindAllStringSubmatch(answer, -1) {
		value, err := strconv.ParseFloat(sample[2], 64)
		require.NoError(t, err)
		samples[sample[1]] += value
	}
	return samples
}

// Series of a counter end, and those of others never count less than before.
func TestChannelsWithoutEventsForAnHourGiveTheirSeriesToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startMany(t, 200) // c007 has 5 events and a drop, c150 has one; there is room for 20
		m.drain(t, "c007")
		m.drain(t, "c150")
		require.NoError(t, m.limiter.Pause(t.Context(), store.Channel{Name: "c009"}, 0, ""))
		for channel := 20; channel < 38; channel++ {
			m.deliver(t, channel)
		}
		m.deliver(t, 40)
		counted := m.scrape(t, "relay_events_total")
		require.Len(t, counted, 20+1)
		require.InDelta(t, 6, counted["c007"], 0)
		require.InDelta(t, 1, counted["other"], 0, "c040")

		for range 3 { // it is scraped meanwhile, which is no activity of a channel
			time.Sleep(20 * time.Minute)
			m.deliver(t, 20)
			m.scrape(t, "relay_events_total")
		}
		time.Sleep(2 * time.Second) // a reading is used again for a second
		m.deliver(t, 40)
		counted = m.scrape(t, "relay_events_total")
		require.Equal(t, map[string]float64{"c020": 4, "c040": 1, "other": 1}, counted, "other does not count less than before")
		used := m.scrape(t, "relay_limit_used")
		require.InDelta(t, 4, used["c020"], 0)
		require.InDelta(t, 2, used["c040"], 0, "a gauge shows what it counted before, too")
		require.InDelta(t, 5+1+17, sumOf(used)-used["c020"]-used["c040"], 0)
		require.InDelta(t, 5+1+17+4+2, sumOf(used), 0, "each channel is counted once")

		m.deliver(t, 7)
		counted = m.scrape(t, "relay_events_total")
		require.InDelta(t, 1, counted["c007"], 0, "it begins again")
	})
}

func sumOf(samples map[string]float64) (sum float64) {
	for _, value := range samples {
		sum += value
	}
	return sum
}
