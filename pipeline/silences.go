package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/silence"
	"slackrelay/store"
)

// SilenceList has the silences that this replica knows, and the time of their store; the Silencer of package silence does.
type SilenceList interface {
	Known() (now time.Time, all []silence.Silence)
	// Passes returns the ids of the silences that let the resolve of an alert pass, and mute it while it fires.
	Passes(e *events.Event) (ids []string)
}

// SilenceNoticeOptions configure [SilenceNotices]. All but Logger, Every and Timeout are needed.
type SilenceNoticeOptions struct {
	Silences SilenceList
	Store    ProblemStore
	Outbox   ReminderOutbox
	// Channel returns a channel by its name; nil = there is none.
	Channel func(name string) *Channel
	// Wake is called with the name of a channel as soon as a notice was queued for it.
	Wake   func(channel string)
	Logger *slog.Logger // default: nothing is logged
	// Every is the time between two looks at the silences. Default 1 s.
	Every time.Duration
	// Timeout bounds one call of the store. Default 2 s.
	Timeout time.Duration
}

// SilenceNotices post in the channels that a silence concerns when it is made, when it ends, and an hour before its end if something
// that it mutes still fires. Each notice is posted once over all replicas: its id is derived from the silence, and what was posted is
// noted in a document. The notices are extras, which use no slot.
//
// A silence concerns the channel that it names, and the first 50 channels in which it has muted something.
type SilenceNotices struct {
	opts SilenceNoticeOptions

	mu    sync.Mutex
	muted map[string]map[string]*silencedEvents // by silence and channel: what its document does not have yet

	done  map[string]silenceMoment // by silence: what there is nothing more to do for; of Run alone
	since map[string]time.Time     // by silence: when its document was last written; of Run alone
	// failing is whether the last look failed; of Run alone.
	failing bool
}

// silenceScope is where the documents of silences are stored. No configured channel has a "~" in its name.
var silenceScope = store.Channel{Group: "~silences", Name: "~silences"}

const (
	silenceOwner = "silence"
	// writeMuted is the time between two writes of what a silence has muted.
	writeMuted = 5 * time.Second
)

// NewSilenceNotices returns SilenceNotices. Run must run while they are used.
func NewSilenceNotices(opts SilenceNoticeOptions) *SilenceNotices {
	opts.Every = cmp.Or(opts.Every, time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &SilenceNotices{
		opts: opts, muted: map[string]map[string]*silencedEvents{}, done: map[string]silenceMoment{}, since: map[string]time.Time{},
	}
}

// note notes an event that a silence has muted. mutedBy is what the receipt says.
func (n *SilenceNotices) note(mutedBy string, e *events.Event) {
	id, ok := strings.CutPrefix(mutedBy, mutedBySilence)
	if n == nil || !ok || isLane(e.Channel) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if muted := n.mutedIn(id, e.Channel); muted != nil {
		muted.add(e)
	}
}

// Run posts notices until ctx ends, and then writes what was muted.
func (n *SilenceNotices) Run(ctx context.Context) {
	ticker := time.NewTicker(n.opts.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			n.look(context.WithoutCancel(ctx), 0)
			return
		case <-ticker.C:
			n.look(ctx, writeMuted)
		}
	}
}

// look looks at each silence for which there is something to do. What was muted is written every so often.
func (n *SilenceNotices) look(ctx context.Context, every time.Duration) {
	now, all := n.opts.Silences.Known()
	listed := map[string]bool{}
	for i := range all {
		one := &all[i]
		listed[one.ID] = true
		moment := momentOf(one, now)
		if n.done[one.ID] == moment && (now.Sub(n.since[one.ID]) < every || !n.hasMuted(one.ID)) {
			continue
		}
		if err := n.update(ctx, one, now); err != nil {
			if !n.failing && ctx.Err() == nil {
				n.opts.Logger.WarnContext(ctx, "silence cannot be announced yet", "silence", one.ID, "error", err)
			}
			n.failing = true
			return // the store is away, or busy
		}
		n.failing = false
		n.done[one.ID] = moment
		n.since[one.ID] = now
	}
	n.forget(listed)
}

// forget forgets silences that are listed no longer.
func (n *SilenceNotices) forget(listed map[string]bool) {
	gone := func(id string) bool { return !listed[id] }
	maps.DeleteFunc(n.done, func(id string, _ silenceMoment) bool { return gone(id) })
	maps.DeleteFunc(n.since, func(id string, _ time.Time) bool { return gone(id) })
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.muted, func(id string, _ map[string]*silencedEvents) bool { return gone(id) && len(listed) > 0 })
}

func (n *SilenceNotices) hasMuted(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.muted[id]) > 0
}

// update writes what a silence has muted, and queues the notices that are due.
func (n *SilenceNotices) update(ctx context.Context, one *silence.Silence, now time.Time) error {
	n.mu.Lock()
	muted := n.muted[one.ID]
	delete(n.muted, one.ID)
	n.mu.Unlock()
	for range problemTries {
		saved, err := n.try(ctx, one, now, muted)
		if saved {
			return nil
		}
		if err != nil {
			n.putBack(one.ID, muted)
			return err
		}
	}
	n.putBack(one.ID, muted)
	return errChanging
}

// putBack keeps what was muted for the next write.
func (n *SilenceNotices) putBack(id string, muted map[string]*silencedEvents) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for channel, events := range n.muted[id] {
		if known := muted[channel]; known != nil {
			events.merge(known, true)
		}
	}
	if len(muted) == 0 {
		return
	}
	if n.muted[id] == nil {
		n.muted[id] = map[string]*silencedEvents{}
	}
	for channel, events := range muted {
		if n.muted[id][channel] == nil {
			n.muted[id][channel] = events
		}
	}
}

// try updates the document of a silence once; saved is false if it has changed meanwhile.
func (n *SilenceNotices) try(
	ctx context.Context, one *silence.Silence, now time.Time, muted map[string]*silencedEvents,
) (saved bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.opts.Timeout)
	defer cancel()
	name := silenceOwner + "/" + one.ID
	_, documents, err := n.opts.Store.Problems(ctx, silenceScope, []string{name})
	if err != nil {
		return false, err
	}
	state := silenceState{Channels: map[string]*silencedEvents{}}
	version := documents[0].Version
	if version > 0 {
		if err := json.Unmarshal(documents[0].Data, &state); err != nil {
			return false, fmt.Errorf("decode the document of silence %s: %w", one.ID, err)
		}
	}
	state.merge(muted)
	if err := n.settle(ctx, one, now, &state); err != nil {
		return false, err
	}
	news := state.advance(one, now, version == 0)
	if len(state.Channels) == 0 {
		return true, nil // it concerns no channel so far
	}
	for _, notice := range news {
		if err := n.post(ctx, notice); err != nil {
			return false, err
		}
	}
	data, err := json.Marshal(state)
	if err != nil {
		return false, fmt.Errorf("encode the document of silence %s: %w", one.ID, err)
	}
	keep := max(0, one.EndsAt.Sub(now)) + keepSilenceDocument
	return n.opts.Store.SaveProblems(ctx, silenceScope, []store.ProblemChange{{
		Name: name, Version: version, Data: data, Keep: keep,
	}}, store.ProblemCounts{})
}

// post queues a notice in its channel, once for each id, if the channel has them.
func (n *SilenceNotices) post(ctx context.Context, notice notifier.Notice) error {
	ch := n.opts.Channel(notice.Channel)
	if ch == nil || !ch.SilenceNotices {
		return nil
	}
	payload, err := json.Marshal(notice)
	if err != nil {
		return fmt.Errorf("encode the notice: %w", err)
	}
	if err := n.opts.Outbox.Append(ctx, ch.Scope(), notice.ID, store.KindNotice, payload); err != nil {
		return err
	}
	n.opts.Wake(ch.Name)
	return nil
}
