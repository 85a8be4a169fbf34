package store

import (
	"context"
	"time"
)

// Methods of Slack's that a workspace limits.
const (
	MethodPost    = "chat.postMessage"
	MethodUpdate  = "chat.update"
	MethodHistory = "conversations.history"
)

// Budget is what all channels with one Slack credential share.
type Budget interface {
	// Take takes one call of a method, of so many a minute. Otherwise it says how long to wait, and why: "" is
	// the budget, else the reason of a pause.
	ReserveCall(ctx context.Context, workspace, method string, perMinute int64) (wait time.Duration, reason string, err error)
	// Pause lets nobody use the credential for a time; 0 ends a pause.
	PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error
	// Paused tells for how long nobody uses the credential, and why; 0 = it is used.
	CredentialPaused(ctx context.Context, workspace string) (wait time.Duration, reason string, err error)
}
