package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// AlertDocuments are the documents that [Alerts] keeps; a [store.Problems] has them.
type AlertDocuments interface {
	Problems(ctx context.Context, channel store.Channel, names []string) (now int64, all []store.Problem, err error)
	SaveProblems(ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts) (saved bool, err error)
	ListProblems(ctx context.Context, channel store.Channel, prefix, after string, most int) (now int64, all []store.Problem, err error)
}

// AlertsOptions configure an [Alerts]. Intake and Documents are needed.
type AlertsOptions struct {
	Intake    *Intake
	Documents AlertDocuments
	// Memory outlives the Alerts of one configuration. Default: a new one.
	Memory *AlertMemory
	// Logger gets a line if the documents of a channel are full. Default: nothing is logged.
	Logger *slog.Logger
	// Timeout bounds one call of the documents. Default 2 s.
	Timeout time.Duration
}

// Alerts takes in the alerts of senders that post them again and again while they fire, as Prometheus does. What is new about an
// alert becomes an event; all else moves the alert's end. An alert that is not posted again until its end is resolved, once over
// all replicas.
//
// Without documents, because the store is unavailable, full or has lost them, each replica decides by what it knows itself. An
// alert that it does not know is then new; if it was posted before, its id tells that.
type Alerts struct {
	opts AlertsOptions
}

// NewAlerts returns an Alerts.
func NewAlerts(opts AlertsOptions) *Alerts {
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Memory == nil {
		opts.Memory = NewAlertMemory()
	}
	return &Alerts{opts: opts}
}

// AlertOwner is the owner of the documents of alerts, and alertPrefix begins their names.
const (
	AlertOwner  = "alert"
	alertPrefix = AlertOwner + "/"
)

// What is logged if the store is unavailable.
const documentsUnavailable = "documents of alerts unavailable"

// alertTries is how often a decision is made again because another replica changed a document meanwhile.
const alertTries = 5

// Post takes in posted alerts, each with the event at its place in the arrival, and passes those events on that are new. The error
// is that of the Intake; the sender posts again by itself.
func (a *Alerts) Post(ctx context.Context, arrival Arrival, posted []problem.Alert) error {
	if arrival.Test {
		_, err := a.opts.Intake.Admit(ctx, arrival)
		return err
	}
	ch, ok := a.opts.Intake.channels[arrival.Channel]
	if !ok {
		return fmt.Errorf("channel %q: %w", arrival.Channel, ErrUnknownChannel)
	}
	for len(posted) > 0 {
		n := min(len(posted), store.MaxProblems)
		part := arrival
		part.Events = arrival.Events[:n:n]
		if err := a.postSome(ctx, ch.Scope(), part, posted[:n]); err != nil {
			return err
		}
		arrival.Events, posted = arrival.Events[n:], posted[n:]
	}
	return nil
}

// postSome takes in as many alerts as one call can load. If a document was changed meanwhile, it decides again: what was passed on
// already is then a duplicate.
func (a *Alerts) postSome(ctx context.Context, channel store.Channel, arrival Arrival, posted []problem.Alert) error {
	for range alertTries {
		board, err := a.load(ctx, channel, posted)
		if err != nil {
			a.opts.Logger.DebugContext(ctx, documentsUnavailable, "channel", channel.Name, "error", err)
		}
		stored := err == nil
		a.opts.Memory.recall(channel.Name, board, stored)
		part := arrival
		isMuted := func(e events.Event) bool { return a.opts.Intake.isMuted(ctx, arrival, e) }
		var repeats []events.Event
		part.Events, repeats = board.post(posted, arrival.Events, isMuted)
		a.opts.Intake.noteRepeats(ctx, arrival, repeats)
		if len(part.Events) > 0 {
			receipt, err := a.opts.Intake.Admit(ctx, part)
			if err != nil {
				return err
			}
			board.heard(part.Events, receipt)
		}
		if !stored || a.save(ctx, channel, board) {
			a.opts.Memory.keep(channel.Name, board)
			return nil
		}
	}
	return nil
}

// load returns the documents of alerts; after an error, there are none.
func (a *Alerts) load(ctx context.Context, channel store.Channel, posted []problem.Alert) (*alertBoard, error) {
	board := &alertBoard{now: time.Now(), byName: map[string]*alertDocument{}}
	for i := range posted {
		name := alertPrefix + posted[i].Event.Fingerprint
		if board.byName[name] == nil {
			board.byName[name] = &alertDocument{}
			board.names = append(board.names, name)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.Timeout)
	defer cancel()
	now, all, err := a.opts.Documents.Problems(ctx, channel, board.names)
	if err != nil {
		a.opts.Memory.Interrupt()
		return board, fmt.Errorf("load the documents of alerts: %w", err)
	}
	board.now = time.UnixMicro(now)
	for _, one := range all {
		document := board.byName[one.Name]
		document.version = one.Version
		document.alert = decodeAlert(one)
	}
	return board, nil
}

// save reports whether the decision stands: the documents were saved, or cannot be.
func (a *Alerts) save(ctx context.Context, channel store.Channel, board *alertBoard) bool {
	changes := board.changes()
	if len(changes) == 0 {
		return true
	}
	saved, err := a.saveChanges(ctx, channel, changes)
	switch {
	case errors.Is(err, store.ErrProblemsFull):
		a.opts.Logger.WarnContext(ctx, "documents of alerts full: the relay does not notice when some alerts end", "channel", channel.Name)
	case err != nil:
		a.opts.Logger.DebugContext(ctx, documentsUnavailable, "channel", channel.Name, "error", err)
	}
	return saved || err != nil
}

// decodeAlert returns the alert of a document; nil = there is none.
func decodeAlert(document store.Problem) *problem.Alert {
	if document.Version == 0 {
		return nil
	}
	alert := &problem.Alert{}
	if json.Unmarshal(document.Data, alert) != nil || alert.Event.Fingerprint == "" {
		return nil // of another version of the relay
	}
	alert.Event.Group, alert.Event.Annotations = alert.Group, alert.Annotations // an event does not keep them
	return alert
}

// Expire ends those alerts of due documents whose end has passed; it is a [ProblemHandler]. A document is saved before its event is
// passed on, so that the alert does not end if it is posted at the same time. It is due again at once, and then its event is
// passed on, again and again until that is saved too: the id of the event makes repeats duplicates.
func (a *Alerts) Expire(ctx context.Context, channel store.Channel, now int64, due []store.Problem) error {
	bySender := map[string][]events.Event{}
	changes := make([]store.ProblemChange, 0, len(due))
	at := time.UnixMicro(now)
	since := a.opts.Memory.since(at)
	for _, document := range due {
		alert := decodeAlert(document)
		if alert == nil {
			changes = append(changes, store.ProblemChange{Name: document.Name, Version: document.Version})
			continue
		}
		if alert.Unsaid {
			bySender[alert.Sender] = append(bySender[alert.Sender], alert.Event)
		}
		next, wake := alert.Expire(at, since)
		change, err := changeOf(document.Name, document.Version, next)
		if err != nil {
			return err
		}
		change.Wake = microsOf(wake)
		changes = append(changes, change)
	}
	for sender, all := range bySender {
		if _, err := a.opts.Intake.Admit(ctx, Arrival{Channel: channel.Name, Sender: sender, Events: all}); err != nil {
			return fmt.Errorf("pass on the ends of alerts: %w", err)
		}
	}
	return a.saveEach(ctx, channel, changes)
}

// saveEach saves changes, without those of documents that were changed meanwhile: those alerts were posted again, or another replica
// did the same.
func (a *Alerts) saveEach(ctx context.Context, channel store.Channel, changes []store.ProblemChange) error {
	saved, err := a.saveChanges(ctx, channel, changes)
	for i := range changes {
		if err != nil || saved || len(changes) == 1 {
			break
		}
		_, err = a.saveChanges(ctx, channel, changes[i:i+1])
	}
	return err
}

func (a *Alerts) saveChanges(ctx context.Context, channel store.Channel, changes []store.ProblemChange) (saved bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.Timeout)
	defer cancel()
	if saved, err = a.opts.Documents.SaveProblems(ctx, channel, changes, store.ProblemCounts{}); err != nil {
		a.opts.Memory.Interrupt()
		return false, fmt.Errorf("save the documents of alerts: %w", err)
	}
	return saved, nil
}
