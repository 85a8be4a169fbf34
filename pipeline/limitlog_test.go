package pipeline_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store/memory"
)

func TestReachedLimitAndItsEndAreLoggedOnceEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ch := channel("a", &sink{})
		ch.Tiers = tiers(ratelimit.Window{Limit: 3, Per: 30 * time.Minute}, ratelimit.Window{Limit: 2, Per: 30 * time.Minute})
		intake := pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter:  memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}),
			Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		sent := 0
		admit := func(category string, n int) {
			var all []events.Event
			for range n {
				sent++
				all = append(all, events.Event{
					ID: fmt.Sprint(sent), Source: "generic", Category: category, Severity: events.Info, Title: "t",
				})
			}
			_, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
			require.NoError(t, err)
		}
		line := regexp.MustCompile(`msg="([^"]+)" channel=a level=(\w+) category=(\w+)`)
		lines := func() (all []string) {
			for _, found := range line.FindAllStringSubmatch(log.String(), -1) {
				all = append(all, fmt.Sprint(found[1:]))
			}
			log.Reset()
			return all
		}
		admit("disk", 2)
		require.Empty(t, lines())
		admit("disk", 50)
		admit("disk", 50)
		require.Equal(t, []string{"[a limit is reached: events are dropped category disk]"}, lines())
		admit("cpu", 3)
		require.Equal(t, []string{"[a limit is reached: events are dropped channel cpu]"}, lines())
		time.Sleep(31 * time.Minute)
		admit("disk", 1)
		require.Len(t, lines(), 2, "both levels let it through")
		admit("disk", 1)
		require.Empty(t, lines())
	})
}
