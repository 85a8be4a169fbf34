package store

// The Slack methods whose calls count in a [Budget].
const (
	MethodPost    = "chat.postMessage"
	MethodUpdate  = "chat.update"
	MethodHistory = "conversations.history"
)
