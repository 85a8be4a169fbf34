package store

// MaxDue is how much work [Store.Due] returns at most in one call.
const MaxDue = 1000

// WorkKind is what a channel has to do.
type WorkKind string

// The kinds of work.
const (
	WorkSend    WorkKind = "send"    // to claim an entry of its queue, or to write a digest
	WorkPromote WorkKind = "promote" // to decide delayed messages again
)

// Work is something that a channel has to do now.
type Work struct {
	Kind    WorkKind
	Channel Channel // as the caller of [Store.Due] named it
}
