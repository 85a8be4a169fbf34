package pipeline

import (
	"context"

	"slackrelay/slackapp"
)

// check asks Slack about destinations of one token. It returns the address of the workspace, and whether it got to the end. The
// faults are written, and those that are gone are deleted.
func (r *checkRun) check(ctx context.Context, workspace string, targets []Target) (url string, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout-noteTimeout)
	defer cancel()
	inspector := targets[0].Sender.Inspector(slackapp.InspectorOptions{
		Join:  r.anyUnchecked(targets), // a bot that was removed since should stay away until a message needs it
		Brief: true, Pace: r.pace(workspace),
	})
	inspector.Token(ctx)
	if refused, ends := inspector.Refused(); ends {
		r.noteToken(ctx, workspace, refused)
		return "", true
	}
	if !inspector.Answered() || ctx.Err() != nil {
		return "", false // Slack or the network are at fault: the next look checks again
	}
	found := map[string]*DestinationFault{}
	if known, was := r.known()[tokenPrefix+workspace]; was && endsWithCheck(known) {
		found[tokenPrefix+workspace] = nil
	}
	complete = r.inspect(ctx, inspector, targets, found)
	if refused, ends := inspector.Refused(); ends {
		r.noteToken(ctx, workspace, refused)
		return "", true
	}
	r.noteFound(ctx, targets, found)
	return inspector.URL(), complete
}

// endsWithCheck reports whether a check that succeeds ends the fault of a token: a message may need more than the check.
func endsWithCheck(fault DestinationFault) bool {
	return fault.Code == "" || fault.Code != "missing_scope" && slackapp.RefusesToken(fault.Code)
}

// inspect checks destinations one after the other, until the token is refused or ctx ends, and adds what it found.
func (r *checkRun) inspect(
	ctx context.Context, inspector *slackapp.Inspector, targets []Target, found map[string]*DestinationFault,
) (complete bool) {
	names := make([]string, len(targets))
	for i, target := range targets {
		names[i] = target.Sender.SlackChannel()
	}
	_ = inspector.Expect(ctx, names) // each channel says what is wrong
	known := r.known()
	for _, target := range targets {
		findings, id := inspector.Channel(ctx, target.Name, target.Sender.SlackChannel())
		if _, refused := inspector.Refused(); refused || ctx.Err() != nil {
			return false
		}
		place := target.Sender.Place()
		if id != "" {
			target.Sender.Found(id)
		}
		if !inspector.Postponed(id) {
			r.checked[place] = true
		}
		name := faultPrefix + place
		fault, certain := faultIn(findings)
		switch before, faulty := known[name]; {
		case fault != nil: // known or not: it is kept for a while after the last check that found it
			found[name] = fault
		case faulty && certain && (before.Code == "" || id != "" && inspector.Ends(before.Code, id)):
			found[name] = nil
		}
	}
	return true
}

// faultIn returns the fault among findings, and whether they are certain: the bot can post there, or it cannot.
func faultIn(findings []slackapp.Finding) (fault *DestinationFault, certain bool) {
	for _, f := range findings {
		switch f.Grade {
		case slackapp.Fault:
			return &DestinationFault{Message: f.Message, Remedy: f.Remedy}, true
		case slackapp.OK:
			certain = true
		case slackapp.Warning:
		}
	}
	return nil, certain
}

// noteToken notes that Slack refuses the token.
func (r *checkRun) noteToken(ctx context.Context, workspace string, refused slackapp.Finding) {
	fault := DestinationFault{Message: "it " + refused.Message, Remedy: refused.Remedy, Token: workspace}
	if known := r.known()[tokenPrefix+workspace]; known.Code != "" {
		fault = known // what Slack said about a message says more
	}
	r.noteTokenFault(ctx, workspace, fault, keepUnchecked)
}

// noteFound writes what a check found, and logs what is new.
func (r *checkRun) noteFound(ctx context.Context, targets []Target, found map[string]*DestinationFault) {
	if len(found) == 0 {
		return
	}
	added, err := r.save(ctx, found, keepUnchecked)
	if err != nil {
		r.opts.Logger.WarnContext(ctx, "faults of destinations could not be stored", "error", err)
		return
	}
	isNew := make(map[string]bool, len(added))
	for _, name := range added {
		isNew[name] = true
	}
	logged := 0
	for _, target := range targets {
		name := faultPrefix + target.Sender.Place()
		fault, changed := found[name]
		if !changed || fault != nil && !isNew[name] {
			continue
		}
		if logged++; logged > maxFaultsLogged {
			continue
		}
		if fault == nil {
			r.opts.Logger.InfoContext(ctx, "destination can be posted to again", "destination", target.Name)
			continue
		}
		r.opts.Logger.ErrorContext(ctx, "destination cannot be posted to", "destination", target.Name,
			"why", fault.Message, "remedy", fault.Remedy)
	}
	if more := logged - maxFaultsLogged; more > 0 {
		r.opts.Logger.WarnContext(ctx, "destinations changed beside these", "destinations", more)
	}
	for name, fault := range found {
		if fault == nil && isToken(name) {
			r.opts.Logger.InfoContext(ctx, "slack accepts the token again")
		}
	}
}
