package replica

import (
	"errors"
	"sync"

	"github.com/sony/gobreaker/v2"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// tripAfter is how many calls in a row must fail with an unknown outcome until the store counts as unavailable. Where a call
// certainly was not carried out, one is enough.
const tripAfter = 3

// breaker keeps callers from waiting for a store that is unavailable.
type breaker struct {
	channel *channel
	once    sync.Once
	circuit *gobreaker.TwoStepCircuitBreaker[store.Answer] // nil until the first call
}

// ready returns the circuit, which is made for the first call: most channels of a process make none.
func (b *breaker) ready() *gobreaker.TwoStepCircuitBreaker[store.Answer] {
	b.once.Do(func() { b.circuit = newCircuit(b.channel) })
	return b.circuit
}

func newCircuit(ch *channel) *gobreaker.TwoStepCircuitBreaker[store.Answer] {
	return gobreaker.NewTwoStepCircuitBreaker[store.Answer](gobreaker.Settings{
		Name:    ch.scope.Name,
		Timeout: ch.opts.ProbeEvery / 4, // the next probe comes later than that, and finds it half open
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return counts.ConsecutiveFailures >= tripAfter || ch.outage.notSent.Load()
		},
		// With too few of its replicas the store is available: its callers try again, and nobody else decides.
		IsExcluded: func(err error) bool {
			return errors.Is(err, ratelimit.ErrRequest) || errors.Is(err, lua.ErrNotReplicated)
		},
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed && to == gobreaker.StateOpen {
				ch.beginOutage()
			}
		},
	})
}

// allow lets a call of the store be made unless it is unavailable; the caller reports the call's error to done.
func (b *breaker) allow() (done func(error), err error) {
	report, err := b.ready().Allow()
	if err == nil {
		return func(err error) {
			b.channel.outage.notSent.Store(errors.Is(err, store.ErrNotSent))
			b.channel.outage.learnFailure(err)
			report(err)
		}, nil
	}
	if b.channel.outage.down() {
		return nil, err
	}
	return func(error) {}, nil // the store came back a moment ago, and the probe that found that is still counted
}

// probe tries the store once, if it is time to.
func (b *breaker) probe(try func() error) error {
	report, err := b.ready().Allow()
	if err != nil {
		return err
	}
	err = try()
	b.channel.outage.learnFailure(err)
	report(err)
	return err
}

// notCarriedOut reports whether the call that returned err certainly changed nothing in the store.
func notCarriedOut(err error) bool {
	return errors.Is(err, store.ErrNotSent) || errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}

// beginOutage begins an outage of the channel. It runs inside the breaker's lock.
func (ch *channel) beginOutage() {
	replicas := ch.limiter.replicas()
	ch.outage.begin(ch.opts.Now(), replicas)
	ch.closed.clear()
	cause := ch.outage.cause()
	ch.opts.Logger.Error("going on without Redis", "channel", ch.scope.Name, "policy", ch.policy(), "replicas", replicas,
		"why", lua.Describe(cause), "error", cause)
	ch.limiter.inBackground(ch.awaitRecovery)
}
