package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"slackrelay/ratelimit"
)

// Problems keeps documents of a channel: small records of what is known of a problem over time, whose meaning is the
// caller's. A document is changed by compare-and-set: whoever loaded an older version than the store has loads it again
// and decides again, so that each effect of a document happens once over all replicas. Times are the store's.
//
// A channel has at most [Options.Problems] documents of up to [MaxProblemBytes] each, and of [MaxProblemsBytes] together.
// Where they are full, documents without a wake time that are forgotten soonest make room.
type Problems interface {
	// Problems loads documents by their names, at most [MaxProblems], in the order of the names. A document that does not
	// exist has the version 0. now is the store's time, in microseconds. Script: problems.lua.
	Problems(ctx context.Context, channel Channel, names []string) (now int64, all []Problem, err error)
	// SaveProblems writes all changes and adds the counts to the ledger, in one atomic step. If a document has another
	// version than its change was made from, nothing is written and saved is false: load the documents and decide again.
	// At most [MaxProblems] changes, each of another document. The error is [ErrProblemsFull] if the documents do not fit,
	// and nothing was written. A repeat of a call that was saved is not saved. Script: save_problems.lua.
	SaveProblems(ctx context.Context, channel Channel, changes []ProblemChange, counts ProblemCounts) (saved bool, err error)
	// DueProblems loads documents whose wake time has passed, the earliest first: up to most of them, or as many as have
	// 256 KiB and one more. It hides the channel from [Store.Due] for [ProblemsLookAgain], unless a document is changed
	// before. Script: due_problems.lua.
	DueProblems(ctx context.Context, channel Channel, most int) (now int64, all []Problem, err error)
	// ListProblems loads documents whose names have the prefix and come after a name, in the order of their names: up to
	// most of them, or as many as have 256 KiB and one more. Without any, there are no more. Script: list_problems.lua.
	ListProblems(ctx context.Context, channel Channel, prefix, after string, most int) (now int64, all []Problem, err error)
}

// Bounds of documents.
const (
	// MaxProblems is how many documents one call loads or changes.
	MaxProblems = ratelimit.MaxBatch
	// MaxProblemBytes bounds a document, and MaxProblemsBytes all documents of a channel.
	MaxProblemBytes  = 64 << 10
	MaxProblemsBytes = 64 << 20
	// MaxProblemName bounds the name of a document in bytes.
	MaxProblemName = 256
	// ProblemsLookAgain is how long the caller of [Store.DueProblems] has to change the documents that it loaded, before
	// another one loads them too.
	ProblemsLookAgain = time.Second
	// ProblemsOverdue is how long after its wake time a document is kept that nobody changes.
	ProblemsOverdue = 7 * 24 * time.Hour
)

// ErrProblemsFull is returned when the documents of a channel have no room for a change. Nothing was written.
var ErrProblemsFull = errors.New("the channel has no room for another document")

// Problem is a document.
type Problem struct {
	Name    string // "<owner>/<name within it>", for example "heartbeat/backup"
	Version int64  // changes with each change of the document; 0 = it does not exist
	Wake    int64  // from when on [Store.DueProblems] returns it, microseconds; 0 = never
	Data    []byte
}

// ProblemChange is a change of a document.
type ProblemChange struct {
	Name    string
	Version int64  // the version that the change was made from; 0 = the document did not exist
	Data    []byte // nil = the document is deleted
	Wake    int64  // microseconds of the store's time; 0 = never
	// Keep is how long the document is kept without another change, at least 1 ms. A document with a wake time is kept until
	// [ProblemsOverdue] after it instead.
	Keep time.Duration
}

// ProblemCounts are added to the ledger of a channel with a change of documents.
type ProblemCounts struct {
	Received, Duplicate, Muted, Merged, Delayed int64 // each may be negative
	Held                                        int64 // of Delayed: events that wait in a document; see [Report]
}

// CheckProblems returns a [ratelimit.ErrRequest] if documents of these names cannot be loaded in one call.
func CheckProblems(names []string) error {
	if len(names) > MaxProblems {
		return fmt.Errorf("%w: %d documents in one call, want at most %d", ratelimit.ErrRequest, len(names), MaxProblems)
	}
	for _, name := range names {
		if len(name) > MaxProblemName || !strings.Contains(name, "/") || !utf8.ValidString(name) {
			return fmt.Errorf("%w: document %.40q: a name is UTF-8 of at most %d bytes and contains a slash",
				ratelimit.ErrRequest, name, MaxProblemName)
		}
	}
	return nil
}

// CheckProblemChanges returns a [ratelimit.ErrRequest] that names the first change that is not valid.
func CheckProblemChanges(changes []ProblemChange) error {
	names := make([]string, len(changes))
	seen := make(map[string]bool, len(changes))
	for i, c := range changes {
		names[i] = c.Name
		switch {
		case seen[c.Name]:
			return fmt.Errorf("%w: document %.40q is changed twice in one call", ratelimit.ErrRequest, c.Name)
		case len(c.Data) > MaxProblemBytes:
			return fmt.Errorf("%w: document %.40q has %d bytes, want at most %d",
				ratelimit.ErrRequest, c.Name, len(c.Data), MaxProblemBytes)
		case len(c.Data) > 0 && c.Keep < time.Millisecond, c.Wake < 0, c.Version < 0:
			return fmt.Errorf("%w: document %.40q needs a time to be kept, a version and a wake time of 0 or more",
				ratelimit.ErrRequest, c.Name)
		}
		seen[c.Name] = true
	}
	return CheckProblems(names)
}

// Totals returns the counts that are not 0, by the names of the totals of a [Ledger].
func (c ProblemCounts) Totals() map[string]int64 {
	totals := map[string]int64{
		"received": c.Received, "duplicate": c.Duplicate, "muted": c.Muted, "merged": c.Merged, "delayed": c.Delayed,
		"held": c.Held,
	}
	maps.DeleteFunc(totals, func(_ string, n int64) bool { return n == 0 })
	return totals
}
