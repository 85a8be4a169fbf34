package pipeline

import (
	"context"
	"maps"
	"slices"
	"strings"

	"slackrelay/store"
)

// ProblemQueue is the part of a store that knows which documents are due. See [store.Problems].
type ProblemQueue interface {
	DueProblems(ctx context.Context, channel store.Channel, most int) (now int64, all []store.Problem, err error)
}

// ProblemHandler looks at documents of a channel whose wake time has passed at now, microseconds of the store's time, the
// earliest first, and changes them. Another replica may look at the same documents: an effect belongs to the call of
// SaveProblems that was saved. A document that it leaves as it is comes again after [store.ProblemsLookAgain].
type ProblemHandler func(ctx context.Context, channel store.Channel, now int64, due []store.Problem) error

// ProblemWork is who looks at documents.
type ProblemWork struct {
	Queue ProblemQueue
	// Handlers are by the owner of the documents: what their names have before the slash.
	Handlers map[string]ProblemHandler
	// Report is called before each question for what is due, and tells the store what it missed in an outage; nil = nothing.
	Report func(ctx context.Context) error
	// Channels are those that are looked at in each recheck, whatever the store says is due. They may have documents only,
	// and no destination; documents of other channels are looked at when they are due.
	Channels []store.Channel
	// Made reports whether a channel that a template made has documents, and is looked at too; nil = none has.
	Made func(ch *Channel) bool
}

// problemsAtOnce is how many documents one call loads.
const problemsAtOnce = 100

// addDocumented adds the channels that have documents only.
func (c *Courier) addDocumented() {
	c.scopes = make(map[string]store.Channel, len(c.among))
	for _, channel := range c.among {
		c.scopes[channel.Name] = channel
	}
	c.documented = make(map[string]bool, len(c.opts.Problems.Channels))
	for _, channel := range c.opts.Problems.Channels {
		c.documented[channel.Name] = true
		if _, isKnown := c.scopes[channel.Name]; !isKnown {
			c.scopes[channel.Name] = channel
			c.among = append(c.among, channel)
		}
	}
}

// scope returns the scope of a channel that has something due.
func (c *Courier) scope(name string) store.Channel {
	if scope, ok := c.scopes[name]; ok {
		return scope
	}
	if ch := c.destination(name); ch != nil { // a template made it
		return ch.Scope()
	}
	return store.Channel{Name: name}
}

// startProblems looks at the documents of a channel that are due, unless that runs already. looked is called at its end,
// or at once.
func (c *Courier) startProblems(channel string, looked func()) {
	if c.opts.Problems.Queue == nil || !c.problems.start(channel, looked) {
		looked()
	}
}

// lookAtProblems hands the documents of a channel that are due to their handlers, until those change none.
func (c *Courier) lookAtProblems(ctx context.Context, channel store.Channel) {
	seen := map[string]int64{} // the versions of documents that were handed over
	for ctx.Err() == nil {
		now, due, err := c.dueProblems(ctx, channel)
		if err != nil {
			c.opts.Logger.DebugContext(ctx, "documents unavailable", "channel", channel.Name, "error", err)
			return
		}
		due = slices.DeleteFunc(due, func(p store.Problem) bool { return seen[p.Name] == p.Version })
		if len(due) == 0 {
			return
		}
		byOwner := map[string][]store.Problem{}
		for _, p := range due {
			seen[p.Name] = p.Version
			owner, _, _ := strings.Cut(p.Name, "/")
			byOwner[owner] = append(byOwner[owner], p)
		}
		for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
			handle := c.opts.Problems.Handlers[owner]
			if handle == nil {
				continue
			}
			if err := handle(ctx, channel, now, byOwner[owner]); err != nil && ctx.Err() == nil {
				c.opts.Logger.WarnContext(ctx, "documents wait", "channel", channel.Name, "owner", owner, "error", err)
			}
		}
	}
}

func (c *Courier) dueProblems(ctx context.Context, channel store.Channel) (now int64, due []store.Problem, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	return c.opts.Problems.Queue.DueProblems(ctx, channel, problemsAtOnce)
}

// reportMissed tells the store what it missed while it was unavailable.
func (c *Courier) reportMissed(ctx context.Context) {
	if c.opts.Problems.Report == nil {
		return
	}
	if err := c.opts.Problems.Report(ctx); err != nil {
		c.opts.Logger.DebugContext(ctx, "events are reported later", "error", err)
	}
}
