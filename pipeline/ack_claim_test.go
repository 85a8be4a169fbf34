package pipeline_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// counting counts the calls of an outbox and its budget.
type counting struct {
	*memory.Store
	claims, acks, ackClaims int
	reserved                int // calls
	questions               int // for them
	afterAck                func()
}

func (c *counting) Claim(ctx context.Context, ch store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	c.claims++
	return c.Store.Claim(ctx, ch, terms, look)
}

func (c *counting) Ack(ctx context.Context, ch store.Channel, entry store.Entry, at store.Receipt) error {
	c.acks++
	return c.Store.Ack(ctx, ch, entry, at)
}

func (c *counting) AckClaim(
	ctx context.Context, ch store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	c.ackClaims++
	claim, err := c.Store.AckClaim(ctx, ch, delivered, terms, look)
	if c.afterAck != nil {
		c.afterAck()
	}
	return claim, err
}

func (c *counting) ReserveCalls(ctx context.Context, workspace string, wanted store.Calls) (store.Reservation, error) {
	c.questions++
	reserved, err := c.Store.ReserveCalls(ctx, workspace, wanted)
	c.reserved += int(reserved.N)
	return reserved, err
}

// count replaces the bundle's courier by one whose calls are counted.
func (b *bundle) count(channels ...pipeline.Channel) *counting {
	calls := &counting{Store: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})}
	b.courierOf(func(opts *pipeline.CourierOptions) {
		opts.Outbox, opts.Budget, opts.RecheckEvery = calls, calls, -1
	}, channels...)
	return calls
}

func TestEachMessageOfAQueueCostsOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{sink: sink{delay: time.Millisecond}}
		b := setup(nil, channel("a", to))
		calls := b.count(channel("a", to))
		b.admit(t, "a", 10)
		b.courier.Wake("a")
		b.run(t, 100*time.Millisecond)
		require.Len(t, to.sent, 10)
		require.Equal(t, store.Ledger{Received: 10, Admitted: 10, Delivered: 10}, b.ledger(t, "a"))
		require.Equal(t, 1, calls.claims)
		require.Equal(t, 10, calls.ackClaims)
		require.Zero(t, calls.acks)
		require.Equal(t, 10, calls.reserved, "none is reserved that is not used")
	})
}

// What was queued while a message was sent is claimed with its acknowledgement, and not looked for once more.
func TestWakeUpDuringASendCostsNoClaimOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{delay: 10 * time.Millisecond}
		b := setup(nil, channel("a", to))
		calls := b.count(channel("a", to))
		b.admit(t, "a", 1)
		b.courier.Wake("a")
		var running sync.WaitGroup
		running.Go(func() { b.run(t, 100*time.Millisecond) })
		time.Sleep(5 * time.Millisecond)
		b.admit(t, "a", 2)
		b.courier.Wake("a")
		running.Wait()
		require.Len(t, to.sent, 2, "one of the two is a duplicate")
		require.Equal(t, 1, calls.claims)
		require.Equal(t, 2, calls.ackClaims)
	})
}

// What is queued after the claim that found nothing is not missed.
func TestWakeUpAfterTheLastClaimIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(nil, channel("a", to))
		calls := b.count(channel("a", to))
		calls.afterAck = func() {
			if calls.ackClaims == 1 {
				b.admit(t, "a", 2)
				b.courier.Wake("a")
			}
		}
		b.admit(t, "a", 1)
		b.courier.Wake("a")
		b.run(t, 100*time.Millisecond)
		require.Len(t, to.sent, 2, "one of the two is a duplicate")
	})
}

// A courier that stops acknowledges what it sent, and claims nothing more.
func TestStoppedCourierClaimsNothingWithItsLastAcknowledgement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{delay: time.Second}
		b := setup(nil, channel("a", to))
		calls := b.count(channel("a", to))
		b.admit(t, "a", 2)
		b.courier.Wake("a")
		b.run(t, 500*time.Millisecond)
		require.Len(t, to.sent, 1)
		require.Equal(t, 1, calls.acks)
		require.Zero(t, calls.ackClaims)
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Pending: 1}, b.ledger(t, "a"))
		next, err := memory.New(b.store, memory.Options{Options: store.Options{Owner: "other"}}).
			Claim(t.Context(), store.Channel{Group: "a", Name: "a"}, store.Terms{Pace: store.Pace{Burst: 1}}, false)
		require.NoError(t, err)
		require.Equal(t, store.Claimed, next.State, "another sender goes on at once")
		require.True(t, next.Entry.UnknownSince.IsZero())
	})
}

// A courier that stops while it acknowledges finishes the entry that it claimed with the same call.
func TestStoppedCourierFinishesWhatItClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(nil, channel("a", to))
		ctx, cancel := context.WithCancel(t.Context())
		b.courierOf(func(opts *pipeline.CourierOptions) {
			opts.Outbox = cancelling{memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}}), cancel}
		}, channel("a", to))
		b.admit(t, "a", 3)
		b.courier.Wake("a")
		b.courier.Run(ctx)
		require.Len(t, to.sent, 2)
		require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 2, Pending: 1}, b.ledger(t, "a"))
	})
}

// cancelling is an outbox whose courier is stopped during an acknowledgement.
type cancelling struct {
	*memory.Store
	cancel context.CancelFunc
}

func (c cancelling) AckClaim(
	ctx context.Context, ch store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	c.cancel()
	return c.Store.AckClaim(ctx, ch, delivered, terms, look)
}

// The couriers of several outboxes are woken for each admission, though one outbox has it.
func TestWakeUpOfACourierWithoutWorkClaimsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		b := setup(nil, channel("a", to))
		calls := &counting{Store: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})}
		b.courierOf(func(opts *pipeline.CourierOptions) {
			opts.Outbox, opts.HasWork, opts.RecheckEvery = calls, calls.HasWork, -1
		}, channel("a", to))
		b.courier.Wake("a")
		b.run(t, 100*time.Millisecond)
		require.Zero(t, calls.claims)
		b.admit(t, "a", 1)
		b.courier.Wake("a")
		b.run(t, 100*time.Millisecond)
		require.Len(t, to.sent, 1)
	})
}
