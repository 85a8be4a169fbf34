package action

import (
	"context"
	"slices"
	"strings"

	"slackrelay/notifier"
)

// mustOperate returns what keeps the user from muting and posting in the channel; "" = nothing.
func (h *Handler) mustOperate(ctx context.Context, r *request) string {
	operators := r.channel.Operators
	if slices.Contains(operators, r.User.ID) {
		return ""
	}
	directory, ok := r.channel.Sender.(notifier.Directory)
	unknown := false
	for _, group := range operators {
		if !ok || !strings.HasPrefix(group, "S") {
			continue
		}
		isMember, err := directory.InGroup(ctx, r.User.ID, group)
		if isMember {
			return ""
		}
		unknown = unknown || err != nil
	}
	switch {
	case len(operators) == 0:
		return "Nobody may do that: the channel " + r.channel.Name + " has no operators in the relay's configuration."
	case unknown:
		return "The relay cannot read who is in " + names(operators) + "; its app needs the scope usergroups:read. Nothing was done."
	default:
		return "You may not do that. Ask " + names(operators) + "."
	}
}

// names returns users and user groups as Slack shows them. The answer is seen by one user, so that it mentions nobody else.
func names(operators []string) string {
	var all []string
	for _, id := range operators {
		if mention := notifier.Mention(id); mention != "" {
			all = append(all, mention)
		}
	}
	return strings.Join(all, ", ")
}
