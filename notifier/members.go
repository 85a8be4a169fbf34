package notifier

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Directory is a Sender that knows where in Slack it posts, and who is in a user group.
type Directory interface {
	Workspace() string // a hash of the credential
	// ChannelID returns Slack's id of the channel; "" = it is not known yet.
	ChannelID() string
	// TeamID returns Slack's id of the workspace in which the app is installed.
	TeamID(ctx context.Context) (string, error)
	// InGroup reports whether a user is in a user group. It needs the scope usergroups:read.
	InGroup(ctx context.Context, user, group string) (bool, error)
}

var _ Directory = (*Bot)(nil)

const (
	// membersFor is how long the members of a user group are remembered.
	membersFor = 3 * time.Minute
	// membersTimeout bounds the question for them, because a user waits for the answer, and others for the same question.
	membersTimeout = 1500 * time.Millisecond
	// askMembersAgain is how long after a question that Slack did not answer the next one is asked.
	askMembersAgain = 5 * time.Second
)

// directory is what an App remembers of its workspace.
type directory struct {
	mu     sync.Mutex
	team   string
	groups map[string]userGroup // by id; as many as a configuration names
}

// userGroup is what Slack said of a user group.
type userGroup struct {
	members []string
	known   bool
	next    time.Time // when Slack is asked again
	err     error     // why the members are not known
}

// ChannelID implements [Directory].
func (b *Bot) ChannelID() string { return b.channelID() }

// TeamID implements [Directory]. Slack is asked once.
func (a *App) TeamID(ctx context.Context) (string, error) {
	a.people.mu.Lock()
	defer a.people.mu.Unlock()
	if a.people.team == "" {
		ctx, sent := traceSent(ctx)
		answer, err := a.client.AuthTestContext(ctx)
		if err != nil {
			return "", apiError(err, sent)
		}
		a.people.team = answer.TeamID
	}
	return a.people.team, nil
}

// InGroup implements [Directory]. Members are remembered for 3 minutes, and longer while Slack does not answer.
func (a *App) InGroup(ctx context.Context, user, group string) (bool, error) {
	a.people.mu.Lock()
	defer a.people.mu.Unlock()
	g := a.people.groups[group]
	if !time.Now().Before(g.next) {
		g = a.readGroup(ctx, group, g)
		if a.people.groups == nil {
			a.people.groups = map[string]userGroup{}
		}
		a.people.groups[group] = g
	}
	if !g.known {
		return false, g.err
	}
	return slices.Contains(g.members, user), nil
}

// readGroup asks Slack for the members of a user group. If it does not answer, what was known stays.
func (a *App) readGroup(ctx context.Context, group string, g userGroup) userGroup {
	ctx, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	ctx, sent := traceSent(ctx)
	members, err := a.client.GetUserGroupMembersContext(ctx, group)
	if err != nil {
		g.next, g.err = time.Now().Add(askMembersAgain), apiError(err, sent)
		return g
	}
	return userGroup{members: members, known: true, next: time.Now().Add(membersFor)}
}
