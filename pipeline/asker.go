package pipeline

import (
	"slackrelay/events"
	"slackrelay/store"
)

// Asker makes of events what the limits of a channel are asked, for who only wants to know: nothing is queued.
type Asker struct{ channel *intakeChannel }

// Asker makes an Asker of the channel.
func (c Channel) Asker() *Asker {
	return &Asker{newIntakeChannel(c)}
}

// Scope is what the limits are asked about.
func (a *Asker) Scope() store.Channel { return a.channel.scope() }

// Ask makes the request for an event; the id is left to the caller.
func (a *Asker) Ask(e *events.Event) store.Request {
	return a.channel.request(e)
}
