package pipeline

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

func TestTransitionAfterAFailedRequest(t *testing.T) {
	t.Parallel()
	edit := &job{edit: &notifier.Receipt{TS: "1.000001"}}
	post := &job{events: []events.Event{{Severity: events.Info}}}
	message := store.Entry{Kind: "message"}
	unknown := &notifier.Error{Action: notifier.Retry, Reason: notifier.TimedOut, MaybePosted: true, Answer: "x"}
	refusedCredential := &notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}
	for name, c := range map[string]struct {
		entry   store.Entry
		job     *job
		err     error
		drops   bool // the severity drops messages of unknown state
		action  action
		results []string
		waits   string        // what waits; "" = the channel
		wait    time.Duration // -1 = a backoff
		state   store.SendState
	}{
		"a final refusal buries": {
			entry: message, job: post, err: &notifier.Error{Action: notifier.GiveUp}, action: buryEntry,
		},
		"a third own fault buries": {
			entry: store.Entry{Kind: "message", Faults: 2}, job: post, action: buryEntry,
			err: &notifier.Error{Action: notifier.Retry, OwnFault: true},
		},
		"a second own fault is tried again": {
			entry: store.Entry{Kind: "message", Faults: 1}, job: post, action: retryEntry, results: []string{resultRetried}, wait: -1,
			err: &notifier.Error{Action: notifier.Retry, OwnFault: true},
		},
		"a final refusal discards an edit": {
			entry: store.Entry{Kind: store.KindEdit}, job: edit, err: &notifier.Error{Action: notifier.Repost}, action: discardEntry,
		},
		"an edit waits": {
			entry: store.Entry{Kind: store.KindEdit}, job: edit, err: unknown, action: retryEntry, results: []string{resultRetried},
			waits: store.EntryWaits, wait: -1,
		},
		"all edits wait as long as Slack asks": {
			entry: store.Entry{Kind: store.KindEdit}, job: edit, action: retryEntry, results: []string{resultRetried},
			err: &notifier.Error{Action: notifier.Wait, After: time.Second}, waits: store.EditsWait, wait: time.Second,
		},
		"the channel waits as long as Slack asks": {
			entry: message, job: post, action: retryEntry, results: []string{resultRetried},
			err: &notifier.Error{Action: notifier.Wait, After: time.Second}, wait: time.Second,
		},
		"the channel waits a minute for its credential": {
			entry: message, job: post, err: refusedCredential, action: retryEntry, results: []string{resultRetried}, wait: time.Minute,
		},
		"an unknown state is resolved at the next claim": {
			entry: message, job: post, err: unknown, drops: true, action: retryEntry, results: []string{resultUnknown},
			waits: store.EntryWaits, state: store.MaybePosted,
		},
		"an unknown state that nothing resolves is sent again": {
			entry: message, job: post, err: unknown, action: retryEntry, results: []string{resultResent, resultRetried}, wait: -1,
		},
		"an error of another kind leaves the state unknown": {
			entry: message, job: post, err: errors.New("x"), action: retryEntry, results: []string{resultResent, resultRetried}, wait: -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := Channel{Name: "a", DropUnknown: map[events.Severity]bool{events.Info: c.drops}}
			d := newDelivery(NewCourier(CourierOptions{Logger: slog.New(slog.DiscardHandler)}), &ch, func() {})
			got := d.afterFailure(c.entry, c.job, c.err)
			require.Equal(t, c.action, got.action)
			require.Equal(t, c.results, got.results)
			require.Equal(t, c.waits, got.retry.Waits)
			require.Equal(t, c.state, got.retry.State)
			require.Equal(t, errors.Is(c.err, refusedCredential), got.pauseCredential)
			if c.wait < 0 {
				require.Positive(t, got.retry.Wait)
				return
			}
			require.Equal(t, c.wait, got.retry.Wait)
		})
	}
}
