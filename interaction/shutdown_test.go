package interaction_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/interaction"
)

// What is in flight when a replica stops is acknowledged, so that nobody sees an error for what has happened.
func TestClicksInFlightAreAcknowledgedWhenTheReplicaStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.answer = interaction.Answer{Text: "done"}
	begun, stopping := make(chan struct{}, 20), make(chan struct{})
	b.stub.act = func(context.Context) {
		begun <- struct{}{}
		<-stopping
	}
	r := b.start(t, "one", b.app())
	b.sockets(t, 1)
	ts := b.message(t)
	clicks := make(chan error, 10)
	for range cap(clicks) {
		go func() { clicks <- b.slack.Click("U0ANNA", ts, "relay_acknowledge") }()
		<-begun
	}
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) })
	r.stop()
	for range cap(clicks) {
		require.NoError(t, <-clicks)
	}
	require.NotContains(t, b.log.text(), "not acknowledged")
	require.Len(t, b.stub.all(), cap(clicks), "delivered once")
}
