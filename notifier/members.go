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

// membersFor is how long the members of a user group are remembered.
const membersFor = 3 * time.Minute

// directory is what an App remembers of its workspace.
type directory struct {
	mu     sync.Mutex
	team   string
	groups map[string]userGroup // by id; as many as a configuration names
}

type userGroup struct {
	members []string
	read    time.Time
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
	known, exists := a.people.groups[group]
	if !exists || time.Since(known.read) > membersFor {
		ctx, sent := traceSent(ctx)
		members, err := a.client.GetUserGroupMembersContext(ctx, group)
		if err != nil && !exists {
			return false, apiError(err, sent)
		}
		if err == nil {
			known = userGroup{members: members, read: time.Now()}
			if a.people.groups == nil {
				a.people.groups = map[string]userGroup{}
			}
			a.people.groups[group] = known
		}
	}
	return slices.Contains(known.members, user), nil
}
