package pipeline

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"slackrelay/notifier"
	"slackrelay/slackapp"
	"slackrelay/store"
)

// DestinationFault is why nothing can be posted to a destination.
type DestinationFault struct {
	Message string `json:"message"`          // for example "the bot is not a member of #alerts, and cannot post there"
	Remedy  string `json:"remedy,omitempty"` // what to do about it
	// Token identifies the token that Slack refuses, which all its destinations have in common; "" = the fault is that of the
	// destination alone. It contains no secret.
	Token string `json:"token,omitempty"`
	// Code is Slack's answer to a message; "" = a check found the fault.
	Code string `json:"code,omitempty"`
}

// DestinationsOptions configure [Destinations]. Documents and Logger are needed.
type DestinationsOptions struct {
	// Documents keep what is known, for all replicas.
	Documents store.Problems
	// Budget paces the calls of Slack, over all replicas. nil = they are paced by this process.
	Budget store.Budget
	Logger *slog.Logger
}

// Destinations knows which destinations cannot be posted to, from checks in the background and from the answers to messages. All
// replicas share what it knows, and one of them checks at a time. A fault ends when a check or a message succeeds. A nil
// *Destinations knows of none.
type Destinations struct {
	opts DestinationsOptions

	mu     sync.Mutex
	faults destinationFaults // as of the last reading; never changed, only replaced
	readAt time.Time
}

// destinationFaults are faults by the name of their document.
type destinationFaults map[string]DestinationFault

// NewDestinations returns Destinations. They outlive reloads.
func NewDestinations(opts DestinationsOptions) *Destinations { return &Destinations{opts: opts} }

// The names of documents begin with their owner.
const (
	faultPrefix   = "fault/"
	tokenPrefix   = faultPrefix + "token:"
	checkPrefix   = "check/"
	readFaultsFor = time.Second // how long a reading of the faults is used again
)

// destinationsScope is the pseudo channel that has the documents.
var destinationsScope = store.Channel{Group: "~destinations", Name: "~destinations"}

// of returns why a Sender cannot post, as far as it is known; nil = nothing is.
func (f destinationFaults) of(sender notifier.Sender) *DestinationFault {
	if len(f) == 0 {
		return nil
	}
	if shared, ok := sender.(notifier.Workspace); ok {
		if fault, refused := f[tokenPrefix+shared.Workspace()]; refused {
			return &fault
		}
	}
	if placed, ok := sender.(notifier.Placed); ok {
		if fault, refused := f[faultPrefix+placed.Place()]; refused {
			return &fault
		}
	}
	return nil
}

// known returns the faults as of the last reading.
func (d *Destinations) known() destinationFaults {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.faults
}

// current returns the faults as they are now, or those of the last reading where that fails.
func (d *Destinations) current(ctx context.Context) destinationFaults {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	fresh := time.Since(d.readAt) < readFaultsFor
	d.mu.Unlock()
	if !fresh {
		if err := d.read(ctx); err != nil {
			d.opts.Logger.DebugContext(ctx, "faults of destinations cannot be read", "error", err)
		}
	}
	return d.known()
}

// tokenFault returns the fault of a token whose use Slack refused with a code; answer is all that Slack said.
func tokenFault(workspace, code, answer string) DestinationFault {
	message, remedy := slackapp.Explain(code)
	if _, scopes, ok := strings.Cut(answer, "; the token "); ok {
		message = scopes
	}
	return DestinationFault{Message: "it " + message, Remedy: remedy, Token: workspace, Code: code}
}

// keepAnswered is how long the fault of a token is kept without another refused message. One is tried each minute.
const keepAnswered = 3 * time.Minute

// tokenRefused notes that Slack refused a message for its token, and reports whether that was unknown.
func (d *Destinations) tokenRefused(ctx context.Context, workspace string, failure *notifier.Error) {
	if d == nil || workspace == "" {
		return
	}
	fault := tokenFault(workspace, string(failure.Reason), failure.Answer)
	d.note(ctx, tokenPrefix+workspace, fault, keepAnswered, "slack refuses the token; its channels wait")
}

// refused notes that Slack refuses every message to a destination.
func (d *Destinations) refused(ctx context.Context, name string, sender notifier.Sender, failure *notifier.Error) {
	placed, ok := sender.(notifier.Placed)
	if d == nil || !ok || !failure.DestinationRefused() {
		return
	}
	if d.known().of(sender) != nil {
		return // a check says more
	}
	message, remedy := slackapp.Explain(string(failure.Reason))
	fault := DestinationFault{Message: "the Slack channel " + message, Remedy: remedy, Code: string(failure.Reason)}
	d.note(ctx, faultPrefix+placed.Place(), fault, keepUnchecked, "slack refuses the destination", "channel", name)
}

// note writes a fault, and logs it if it was unknown.
func (d *Destinations) note(ctx context.Context, name string, fault DestinationFault, keep time.Duration, what string, more ...any) {
	added, err := d.save(ctx, map[string]*DestinationFault{name: &fault}, keep)
	log := d.opts.Logger.With(more...).With("why", fault.Message, "remedy", fault.Remedy, "answer", fault.Code)
	switch {
	case err != nil:
		log.ErrorContext(ctx, what, "error", err)
	case len(added) > 0:
		log.ErrorContext(ctx, what)
	}
}

// delivered notes that a destination was posted to.
func (d *Destinations) delivered(ctx context.Context, name string, sender notifier.Sender) {
	known := d.known()
	if len(known) == 0 {
		return
	}
	ended := map[string]*DestinationFault{}
	if shared, ok := sender.(notifier.Workspace); ok {
		ended[tokenPrefix+shared.Workspace()] = nil
	}
	if placed, ok := sender.(notifier.Placed); ok {
		ended[faultPrefix+placed.Place()] = nil
	}
	for document := range ended {
		if _, faulty := known[document]; !faulty {
			delete(ended, document)
		}
	}
	if len(ended) == 0 {
		return
	}
	if _, err := d.save(ctx, ended, 0); err != nil {
		d.opts.Logger.DebugContext(ctx, "fault of a destination could not be ended", "error", err)
		return
	}
	d.opts.Logger.InfoContext(ctx, "destination can be posted to again", "channel", name)
}
