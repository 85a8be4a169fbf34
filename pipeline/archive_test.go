package pipeline_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// unreadable is a store whose archive cannot be read.
type unreadable struct{ *memory.Store }

func (unreadable) Drops(context.Context, store.Channel, string, int) ([]store.Drop, error) {
	return nil, fmt.Errorf("%w: connection refused", ratelimit.ErrUnavailable)
}

func (unreadable) DeadLetters(context.Context, store.Channel, string, int) ([]store.DeadLetter, error) {
	return nil, fmt.Errorf("%w: connection refused", ratelimit.ErrUnavailable)
}

func TestUnreadableArchiveIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	readable := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	channels := []pipeline.Channel{channel("a", &sink{})}
	empty := &pipeline.Archive{Limiter: readable, Outbox: readable, Channels: channels}
	broken := &pipeline.Archive{Limiter: unreadable{readable}, Outbox: unreadable{readable}, Channels: channels}
	for name, read := range map[string]func(a *pipeline.Archive) error{
		"drop":        func(a *pipeline.Archive) error { _, err := a.Drop(t.Context(), "a", "1-0"); return err },
		"replay drop": func(a *pipeline.Archive) error { _, err := a.ReplayDrop(t.Context(), "a", "1-0", false); return err },
		"replay dead": func(a *pipeline.Archive) error { _, err := a.ReplayDead(t.Context(), "a", "1-0", false); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, read(empty), pipeline.ErrNotKept)
			err := read(broken)
			require.ErrorIs(t, err, ratelimit.ErrUnavailable)
			require.NotErrorIs(t, err, pipeline.ErrNotKept)
		})
	}
}

func TestDropSaysWhenItWouldHaveFit(t *testing.T) {
	t.Parallel()
	for wait, said := range map[float64]string{
		600: "; it would have fit 10m later", 3600: "; it would have fit 1h later", 3605: "; it would have fit 1h0m5s later",
		7199.8: "; it would have fit 2h later", 20: "; it would have fit 20s later", 0: "",
	} {
		drop := pipeline.DropRecord{Level: "category", Used: 10, Limit: 10, RetryAfter: wait}
		require.Equal(t, "the limit of the category was reached: 10 of 10 used"+said, drop.Explanation())
	}
}
