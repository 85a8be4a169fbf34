package store

import (
	"fmt"
	"time"
)

// The Slack methods whose calls count in a [Budget].
const (
	MethodPost    = "chat.postMessage"
	MethodUpdate  = "chat.update"
	MethodHistory = "conversations.history"
)

// Calls are calls of a Slack method, to be reserved from a [Budget].
type Calls struct {
	Method    string
	PerMinute int64 // what the budget allows; half of it at once
	N         int64 // how many; 0 = 1
}

// Check returns an error if the budget allows no calls, or a negative number is wanted.
func (c Calls) Check() error {
	if c.PerMinute < 1 {
		return fmt.Errorf("budget of %s: %d calls a minute, want 1 or more", c.Method, c.PerMinute)
	}
	if c.N < 0 {
		return fmt.Errorf("budget of %s: %d calls to reserve, want 0 or more", c.Method, c.N)
	}
	return nil
}

// Reservation is how many of the wanted calls a [Budget] allows.
type Reservation struct {
	N int64
	// Wait is how long no further call is allowed, where N is less than was wanted; otherwise 0.
	Wait time.Duration
	// Reason is why the credential is paused; "" = it is not.
	Reason string
}
