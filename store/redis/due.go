package redis

import (
	"context"

	"slackrelay/store"
)

// Due implements [store.Queue].
func (r *Store) Due(_ context.Context, among []store.Channel, _ bool) ([]store.Work, error) {
	work := make([]store.Work, 0, store.MaxDue)
	for _, channel := range among {
		if len(work) >= store.MaxDue-1 {
			break
		}
		work = append(work, store.Work{Kind: store.WorkSend, Channel: channel}, store.Work{Kind: store.WorkPromote, Channel: channel})
	}
	return work, nil
}
