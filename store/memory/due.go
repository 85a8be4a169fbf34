package memory

import (
	"context"

	"slackrelay/store"
)

// Due implements [store.Queue].
func (s *Store) Due(_ context.Context, among []store.Channel, _ bool) (work []store.Work, err error) {
	for _, channel := range among {
		if len(work) >= store.MaxDue-1 {
			break
		}
		s.do(channel, func(tx channelTx) {
			outbox := tx.outbox()
			if len(outbox.messages)+len(outbox.extras) > 0 || tx.digest().since > 0 || tx.digest().open > 0 {
				work = append(work, store.Work{Kind: store.WorkSend, Channel: channel})
			}
			if len(outbox.delayed) > 0 {
				work = append(work, store.Work{Kind: store.WorkPromote, Channel: channel})
			}
		})
	}
	return work, nil
}
