package interaction

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"slackrelay/store"
)

// socketHolders is how many replicas hold a socket of an app: a second one, so that clicks arrive while the first reconnects.
const socketHolders = 2

// Times of leases. A replica that died is replaced leaseFor after it last renewed its lease, or a renewEvery later.
const (
	leaseFor     = 6 * time.Second
	renewEvery   = 2 * time.Second
	leaseTimeout = time.Second // of one call of the store
)

// leases is where they are stored. No configured channel has a "~" in its name.
var leases = store.Channel{Name: "~sockets"}

// lease is the right to hold a socket of an app. Each is a document that its holder renews, and that is forgotten otherwise. It
// is not safe for concurrent use.
type lease struct {
	documents Documents
	owner     string
	names     []string  // of the documents of the app
	until     time.Time // when it ends unless it is renewed; zero = it is not held
}

// holding is the content of the document.
type holding struct {
	Owner string `json:"owner"`
	Open  bool   `json:"open"`            // the socket is open
	Fault string `json:"fault,omitempty"` // why it is not
}

func newLease(documents Documents, owner, app string) *lease {
	l := &lease{documents: documents, owner: owner}
	for slot := range socketHolders {
		l.names = append(l.names, fmt.Sprintf("socket/%s/%d", app, slot))
	}
	return l
}

// keep renews the lease, or takes a free one, and returns what the other replicas hold. If the store is not available, the lease
// is kept until it ends.
func (l *lease) keep(ctx context.Context, mine holding) (others []holding, err error) {
	mine.Owner = l.owner
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	_, all, err := l.documents.Problems(ctx, leases, l.names)
	if err != nil {
		return nil, fmt.Errorf("read the leases of sockets: %w", err)
	}
	var own, free []store.Problem
	for i, document := range all {
		document.Name = l.names[i]
		held := decodeHolding(document)
		switch {
		case document.Version == 0:
			free = append(free, document)
		case held.Owner == l.owner:
			own = append(own, document)
		default:
			others = append(others, held)
		}
	}
	if len(own) == 0 {
		l.until = time.Time{}
		own = free
	}
	for _, document := range own {
		saved, err := l.save(ctx, document, mine)
		if saved || err != nil {
			return others, err
		}
	}
	return others, nil
}

// save takes or renews the lease of a document. It is not saved if another replica was first.
func (l *lease) save(ctx context.Context, document store.Problem, mine holding) (saved bool, err error) {
	until := time.Now().Add(leaseFor)
	data, err := json.Marshal(mine)
	if err != nil {
		return false, fmt.Errorf("encode the lease of a socket: %w", err)
	}
	saved, err = l.documents.SaveProblems(ctx, leases, []store.ProblemChange{{
		Name: document.Name, Version: document.Version, Data: data, Keep: leaseFor,
	}}, store.ProblemCounts{})
	if err != nil {
		return false, fmt.Errorf("renew the lease of a socket: %w", err)
	}
	if saved {
		l.until = until
	}
	return saved, nil
}

// held reports whether this replica may hold a socket now.
func (l *lease) held() bool { return time.Now().Before(l.until) }

// release gives the lease back, so that another replica takes it at once. What fails is not reported: the lease ends by itself.
func (l *lease) release(ctx context.Context) {
	if l.until.IsZero() {
		return
	}
	l.until = time.Time{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	_, all, err := l.documents.Problems(ctx, leases, l.names)
	if err != nil {
		return
	}
	for i, document := range all {
		if document.Version == 0 || decodeHolding(document).Owner != l.owner {
			continue
		}
		change := store.ProblemChange{Name: l.names[i], Version: document.Version}
		_, _ = l.documents.SaveProblems(ctx, leases, []store.ProblemChange{change}, store.ProblemCounts{})
	}
}

// decodeHolding returns the content of a document; what cannot be read belongs to an unknown replica.
func decodeHolding(document store.Problem) (held holding) {
	_ = json.Unmarshal(document.Data, &held)
	return held
}
