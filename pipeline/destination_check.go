package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"slackrelay/notifier"
	"slackrelay/slackapp"
	"slackrelay/store"
)

const (
	// checkTick is the time between two looks at what must be checked. Destinations with a fault are checked at each.
	checkTick = time.Minute
	// checkAllEvery is the time between two checks of all destinations.
	checkAllEvery = time.Hour
	// keepUnchecked is how long a fault is kept that no check finds again.
	keepUnchecked = 2 * checkAllEvery
	// checkTimeout bounds one check of a token's destinations. Until then, no other replica checks them.
	checkTimeout = 3 * time.Minute
	// maxFaultsLogged is how many destinations one check names in the log.
	maxFaultsLogged = 20
)

// Target is a destination to be checked.
type Target struct {
	Name   string // for people, for example "channel alerts"
	Sender notifier.Checked
}

// Run checks the destinations of a configuration until ctx ends: all of them now and then each hour, those with a fault each
// minute. targets returns them; templates may add some.
func (d *Destinations) Run(ctx context.Context, targets func() []Target) {
	run := newCheckRun(d)
	for {
		byToken := map[string][]Target{}
		for _, target := range targets() {
			workspace := target.Sender.Workspace()
			byToken[workspace] = append(byToken[workspace], target)
		}
		if len(byToken) > 0 {
			run.look(ctx, byToken)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkTick):
		}
	}
}

// checkRun is what one generation has checked.
type checkRun struct {
	*Destinations

	checked map[string]bool // by place: it was checked since the run began
	looked  map[string]bool // by token: its destinations were checked since, here or by another replica
}

func newCheckRun(d *Destinations) checkRun {
	return checkRun{Destinations: d, checked: map[string]bool{}, looked: map[string]bool{}}
}

// look checks what must be checked now.
func (r *checkRun) look(ctx context.Context, byToken map[string][]Target) {
	err := r.read(ctx)
	for workspace, targets := range byToken {
		if err == nil {
			err = r.lookAt(ctx, workspace, targets)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.opts.Logger.DebugContext(ctx, "destinations cannot be checked now", "error", err)
	}
}

// lookAt checks those destinations of a token that must be checked now, unless another replica does.
func (r *checkRun) lookAt(ctx context.Context, workspace string, targets []Target) error {
	state, err := r.loadCheck(ctx, workspace)
	if err != nil || state.Until > state.now {
		return err
	}
	of := hashOf(targets)
	age := time.Duration(state.now-state.All) * time.Microsecond
	if state.Of == of && age < 2*checkTick && !r.looked[workspace] {
		r.adopt(state, targets)
		r.looked[workspace] = true
	}
	due := r.due(workspace, targets)
	all := age >= checkAllEvery
	switch {
	case all:
		due = targets
	case len(due) == 0, !r.anyUnchecked(due) && time.Duration(state.now-state.Last)*time.Microsecond < checkTick*9/10:
		return nil
	}
	state.Until = state.now + checkTimeout.Microseconds()
	saved, err := r.saveCheck(ctx, state)
	if err != nil || !saved {
		return err
	}
	url, complete := r.check(ctx, workspace, due)
	r.looked[workspace] = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout) // the generation may end
	defer cancel()
	done := doneCheck{of: of, url: url, targets: targets, all: complete && len(due) == len(targets)}
	return r.finishCheck(ctx, workspace, done)
}

// noteTimeout bounds storing that a check ended.
const noteTimeout = 2 * time.Second

// doneCheck is a check that ended.
type doneCheck struct {
	of, url string
	targets []Target
	all     bool // it got to the end of all targets
}

// finishCheck stores that the check ended.
func (r *checkRun) finishCheck(ctx context.Context, workspace string, done doneCheck) error {
	state, err := r.loadCheck(ctx, workspace)
	if err != nil {
		return err
	}
	state.Until, state.Last = 0, state.now
	state.URL = cmp.Or(done.url, state.URL)
	if done.all {
		state.Of, state.All = done.of, state.now
		state.IDs = map[string]string{}
		for _, target := range done.targets {
			if name := target.Sender.SlackChannel(); !slackapp.IsChannelID(name) && target.Sender.ID() != "" {
				state.IDs[name] = target.Sender.ID()
			}
		}
	}
	_, err = r.saveCheck(ctx, state)
	return err
}

// adopt takes over what another replica found of the same destinations just now.
func (r *checkRun) adopt(state *check, targets []Target) {
	for _, target := range targets {
		r.checked[target.Sender.Place()] = true
		if id := state.IDs[target.Sender.SlackChannel()]; id != "" {
			target.Sender.Found(id)
		}
	}
}

// due returns those destinations that were not checked in this run, or have a fault.
func (r *checkRun) due(workspace string, targets []Target) []Target {
	known := r.known()
	if _, refused := known[tokenPrefix+workspace]; refused {
		return targets
	}
	var due []Target
	for _, target := range targets {
		place := target.Sender.Place()
		if _, faulty := known[faultPrefix+place]; faulty || !r.checked[place] {
			due = append(due, target)
		}
	}
	return due
}

func (r *checkRun) anyUnchecked(targets []Target) bool {
	for _, target := range targets {
		if !r.checked[target.Sender.Place()] {
			return true
		}
	}
	return false
}

// hashOf returns a hash of destinations.
func hashOf(targets []Target) string {
	sum := sha256.New()
	for _, target := range targets {
		fmt.Fprintln(sum, target.Sender.Place())
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// pace waits until the budget of the workspace allows a call.
func (d *Destinations) pace(workspace string) func(ctx context.Context, method string) error {
	return func(ctx context.Context, method string) error {
		perMinute := slackapp.CallsPerMinute(method) / 2 // the rest is for what else the app does
		for {
			reserved := store.Reservation{Wait: time.Minute / time.Duration(perMinute)}
			var err error
			if d.opts.Budget != nil {
				reserved, err = d.opts.Budget.ReserveCalls(ctx, workspace, store.Calls{Method: method, PerMinute: perMinute})
			}
			if err == nil && reserved.N > 0 {
				return nil
			}
			wait := reserved.Wait
			if err != nil {
				wait = time.Minute / time.Duration(perMinute)
			}
			select {
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // it ends the check
			case <-time.After(wait):
			}
			if d.opts.Budget == nil || err != nil {
				return nil
			}
		}
	}
}
