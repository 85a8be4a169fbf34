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

// The log says when a level becomes full and when something fits again, once each, whatever a storm sends meanwhile.
func TestTheLogSaysWhenALimitIsReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ch := channel("a", &sink{})
		ch.Tiers = tiers(ratelimit.Window{Limit: 3, Per: 30 * time.Minute}, ratelimit.Window{Limit: 2, Per: 30 * time.Minute})
		intake := pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter:  memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}),
			Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Admitted: func(string) {},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		sent := 0
		take := func(category string, n int) {
			var all []events.Event
			for range n {
				sent++
				all = append(all, events.Event{ID: fmt.Sprint(sent), Source: "generic", Category: category, Severity: events.Info, Title: "t"})
			}
			_, err := intake.Take(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
			require.NoError(t, err)
		}
		lines := func() (said []string) {
			for _, found := range regexp.MustCompile(`msg="([^"]+)" channel=a level=(\w+) category=(\w+)`).FindAllStringSubmatch(log.String(), -1) {
				said = append(said, fmt.Sprint(found[1:]))
			}
			log.Reset()
			return said
		}
		take("disk", 2)
		require.Empty(t, lines())
		take("disk", 50)
		take("disk", 50)
		require.Equal(t, []string{"[a limit is reached: events are dropped category disk]"}, lines())
		take("cpu", 3)
		require.Equal(t, []string{"[a limit is reached: events are dropped channel cpu]"}, lines())
		time.Sleep(31 * time.Minute)
		take("disk", 1)
		require.Len(t, lines(), 2, "both levels let it through")
		take("disk", 1)
		require.Empty(t, lines())
	})
}
