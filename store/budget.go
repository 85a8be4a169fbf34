package store

import "fmt"

// The Slack methods whose calls count in a [Budget].
const (
	MethodPost    = "chat.postMessage"
	MethodUpdate  = "chat.update"
	MethodHistory = "conversations.history"
)

// CheckBudget returns an error if a budget allows no calls of a method.
func CheckBudget(method string, perMinute int64) error {
	if perMinute < 1 {
		return fmt.Errorf("budget of %s: %d calls a minute, want 1 or more", method, perMinute)
	}
	return nil
}
