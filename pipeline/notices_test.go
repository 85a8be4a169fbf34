package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestOperatorsAreNotifiedOnceAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(int) error { return &notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"} }}
		operators := &sink{}
		b := setup(nil, channel("a", to))
		b.courier = pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}}), Operations: operators,
			Channels: []pipeline.Channel{channel("a", to)},
			Metrics:  pipeline.NewMetrics(prometheus.NewRegistry()), Logger: b.logger(),
		})
		b.admit(t, "a", 5)
		b.run(t, 30*time.Second)
		require.Len(t, to.at, 5)
		require.Len(t, operators.sent, 1)
		require.Contains(t, operators.sent[0], "channel a: Slack refuses messages for good (is_archived)")
	})
}

func TestOperatorsAreNotifiedOfLongWaitsOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure notifier.Error
		notices int
	}{
		"a short wait":       {notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 30 * time.Second}, 0},
		"a long wait":        {notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: 10 * time.Minute}, 1},
		"a Slack that fails": {notifier.Error{Action: notifier.Retry, Reason: notifier.SlackUnavailable}, 1},
		"a refused token":    {notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				operators := &sink{}
				to := &sink{answer: func(n int) error {
					if n > 8 || name == "a short wait" && n > 0 {
						return nil
					}
					return &c.failure
				}}
				b := setup(nil, channel("a", to))
				b.courier = pipeline.NewCourier(pipeline.CourierOptions{
					Outbox:     memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}}),
					Channels:   []pipeline.Channel{channel("a", to)},
					Operations: operators,
					Metrics:    pipeline.NewMetrics(prometheus.NewRegistry()),
					Logger:     b.logger(),
				})
				b.admit(t, "a", 1)
				b.run(t, 20*time.Minute)
				require.Len(t, operators.sent, c.notices)
			})
		})
	}
}
