package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Bury implements [store.Queue].
func (r *Store) Bury(ctx context.Context, channel store.Channel, entry store.Entry, reason store.DeadReason) error {
	f := finish{
		script: lua.Bury,
		verb:   "bury",
		options: finishOptions{
			Reason:      reason.Reason,
			Answer:      reason.Answer,
			DeadLetters: r.opts.DeadLetters,
			NotPosted:   !reason.MaybePosted,
		},
	}
	if reason.CopyTo != nil {
		f.options.Copy = true
		f.keys = []string{reason.CopyTo.Keys().Extras(), reason.CopyTo.Keys().Entries()}
	}
	return r.finish(ctx, channel, entry, f)
}
