package interaction

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/store"
	"slackrelay/store/memory"
)

// breakable is a store that a replica may lose.
type breakable struct {
	Documents
	mu   sync.Mutex
	away bool
}

func (b *breakable) set(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func (b *breakable) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return errors.New("away")
	}
	return nil
}

func (b *breakable) Problems(ctx context.Context, ch store.Channel, names []string) (int64, []store.Problem, error) {
	if err := b.err(); err != nil {
		return 0, nil, err
	}
	return b.Documents.Problems(ctx, ch, names) //nolint:wrapcheck // of a test
}

func (b *breakable) SaveProblems(
	ctx context.Context, ch store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (bool, error) {
	if err := b.err(); err != nil {
		return false, err
	}
	return b.Documents.SaveProblems(ctx, ch, changes, counts) //nolint:wrapcheck // of a test
}

// holder is a replica that competes for a lease.
type holder struct {
	store *breakable
	lease *lease
	stop  context.CancelFunc
	ended chan struct{}

	mu   sync.Mutex
	held bool
}

func (h *holder) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// compete renews as socket.run does.
func compete(ctx context.Context, documents Documents, name string) *holder {
	ctx, stop := context.WithCancel(ctx)
	h := &holder{store: &breakable{Documents: documents}, stop: stop, ended: make(chan struct{})}
	h.lease = newLease(h.store, name, "app")
	go func() {
		defer close(h.ended)
		for ctx.Err() == nil {
			_, _ = h.lease.keep(ctx, holding{Open: true})
			h.mu.Lock()
			h.held = h.lease.held()
			h.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(renewEvery):
			}
		}
	}()
	return h
}

func TestLeasesOfSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
		var all []*holder
		for i := range 5 {
			all = append(all, compete(t.Context(), documents, fmt.Sprintf("replica-%d", i)))
		}
		holders := func() (found []*holder) {
			synctest.Wait()
			for _, h := range all {
				if h.holds() {
					found = append(found, h)
				}
			}
			return found
		}
		// never more than two, whatever happens
		watch := func(d time.Duration) {
			for range d / (100 * time.Millisecond) {
				time.Sleep(100 * time.Millisecond)
				require.LessOrEqual(t, len(holders()), socketHolders)
			}
		}
		watch(time.Second)
		first := holders()
		require.Len(t, first, 2)
		watch(time.Minute)
		require.Equal(t, first, holders(), "a lease that is renewed stays")

		first[0].stop() // it dies
		<-first[0].ended
		first[0].mu.Lock()
		first[0].held = false
		first[0].mu.Unlock()
		watch(leaseFor + renewEvery + time.Second)
		require.Len(t, holders(), 2, "taken over within seconds")

		first[1].store.set(true) // it loses the store
		watch(leaseFor + 2*renewEvery + time.Second)
		require.Len(t, holders(), 2)
		require.False(t, first[1].holds(), "it no longer holds what another took over")
		first[1].store.set(false)
		watch(10 * time.Second)
		require.Len(t, holders(), 2)

		released := holders()[0] // it stops
		released.stop()
		<-released.ended
		released.lease.release(t.Context())
		released.mu.Lock()
		released.held = false
		released.mu.Unlock()
		watch(renewEvery + 200*time.Millisecond)
		require.Len(t, holders(), 2, "what is released is taken at once")

		for _, h := range all { // the store is away for everybody
			h.store.set(true)
		}
		watch(leaseFor + renewEvery)
		require.Empty(t, holders())
		for _, h := range all {
			h.store.set(false)
		}
		watch(3 * renewEvery)
		require.Len(t, holders(), 2)
		for _, h := range all {
			h.stop()
		}
	})
}

// Any replica says when none has a socket for a minute, and why.
func TestReasonsWhenNobodyHasASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReceiver(Options{})
		app := App{Name: "slack_token", AppToken: "xapp-1", BotTokens: []string{"xoxb-1"}}
		r.current.Store(&configuration{apps: []App{app}})
		s := &socket{receiver: r, key: socketKey{appToken: "xapp-1"}, seen: time.Now()}
		r.sockets[s.key] = s
		time.Sleep(missedAfter - time.Second)
		require.Empty(t, r.Reasons())
		time.Sleep(time.Second)
		const nobody = "no replica has a socket to Slack for the app of slack_token: "
		require.Equal(t, []string{nobody + "none could be opened"}, r.Reasons())
		s.note([]holding{{Fault: "theirs"}}, true)
		require.Equal(t, []string{nobody + "theirs"}, r.Reasons(), "as the replica says that may open one")
		s.note([]holding{{Open: true}}, true)
		require.Empty(t, r.Reasons(), "another replica has one")
		time.Sleep(missedAfter)
		require.True(t, s.setFault(t.Context(), slack.SlackErrorResponse{Err: "token_revoked"}), "no use to try again soon")
		require.Len(t, r.Reasons(), 1)
		require.Contains(t, r.Reasons()[0], nobody+"slack_app_token was revoked; make an app-level token with connections:write")
		require.False(t, s.setFault(t.Context(), slack.SlackErrorResponse{Err: "internal_error"}))
		s.setOpen(t.Context(), true)
		require.Empty(t, r.Reasons())
		s.setOpen(t.Context(), false)
		require.Empty(t, r.Reasons())
		r.current.Store(&configuration{})
		time.Sleep(missedAfter)
		require.Empty(t, r.Reasons(), "a reload removed the app")
	})
}
