package slackapp

import (
	"context"
	"fmt"
	"regexp"

	"github.com/slack-go/slack"
)

// userID is the form of Slack's ids of users, to whom a bot posts direct messages.
var userID = regexp.MustCompile(`^[UW][A-Z0-9]{5,}$`)

// Channel checks a Slack channel, by its id or name, for the relay's channel that posts to it: whether it exists, whether the
// bot may post there, and whether the relay can look up uncertain messages. It also returns the channel's id; "" = it was not
// found. Call Token first.
func (i *Inspector) Channel(ctx context.Context, subject, name string) (findings []Finding, id string) {
	r := &report{subject: subject}
	if i.unasked(r, name) {
		return r.findings, ""
	}
	found, certain, err := i.find(ctx, name)
	if err != nil || found == nil {
		i.notFound(r, name, certain, err)
		if refused, ends := i.Refused(); ends {
			return []Finding{refused}, ""
		}
		return r.findings, ""
	}
	if !IsChannelID(name) {
		r.add(Warning, fmt.Sprintf("%s is a name, which may change", name), "set slack_channel to its id, "+found.id)
	}
	if i.opts.Join {
		i.join(ctx, found)
	}
	i.noteMember(found)
	switch {
	case found.archived:
		r.add(Fault, fmt.Sprintf("#%s is archived", found.name), "unarchive it, or set another slack_channel")
	case !found.member && !found.im:
		i.notMember(r, found)
	default:
		if found.limited {
			r.add(Warning, fmt.Sprintf("#%s is read-only for some", found.name), letBotPost)
		}
		if !i.opts.Brief {
			i.history(ctx, r, found)
		}
	}
	if Worst(r.findings) != Fault {
		r.add(OK, fmt.Sprintf("the bot can post to #%s (%s)", found.name, found.id), "")
	}
	return r.findings, found.id
}

// maxJoins is how many channels one Inspector joins. Slack lets an app join 50 in a minute.
const maxJoins = 25

// Postponed reports whether the bot can join a channel, and did not because it joined enough others.
func (i *Inspector) Postponed(id string) bool { return i.postponed[id] }

// noteMember notes that the bot is a member of a channel, if it is.
func (i *Inspector) noteMember(p *place) {
	if !p.member && !p.im {
		return
	}
	if i.members == nil {
		i.members = map[string]bool{}
	}
	i.members[p.id] = true
}

// Ends reports whether the check of a channel by which the bot can post there ends a fault: the code with which Slack refused a
// message. Of most codes, only another message can tell.
func (i *Inspector) Ends(code, id string) bool {
	switch code {
	case "not_in_channel":
		return i.members[id]
	case "channel_not_found", "is_archived", "channel_is_archived", "team_not_found", "team_access_not_granted":
		return true
	default:
		return false
	}
}

// unasked reports what is known of a place without asking Slack, and whether anything is.
func (i *Inspector) unasked(r *report, name string) bool {
	switch {
	case userID.MatchString(name):
		r.add(OK, fmt.Sprintf("posts direct messages to the user %s, which only a message can test", name), "")
	case i.orgWide && !IsChannelID(name):
		r.add(Fault, name+" is a name, and a token of a whole organisation finds channels by their ids only",
			"set slack_channel to the id, at the bottom of the channel's details in Slack")
	default:
		return false
	}
	return true
}

// join joins a public channel, where the bot may. The findings say whether it worked.
func (i *Inspector) join(ctx context.Context, p *place) {
	if p.member || p.private || p.im || p.archived || !i.has(channelsJoin) {
		return
	}
	if i.joins == maxJoins {
		if i.postponed == nil {
			i.postponed = map[string]bool{}
		}
		i.postponed[p.id] = true
		return
	}
	i.joins++
	err := i.call(ctx, methodJoin, func() error {
		_, _, _, err := i.client.JoinConversationContext(ctx, p.id)
		return err //nolint:wrapcheck // only whether it worked matters
	})
	p.member = err == nil
}

// notMember reports a channel that the bot is not a member of.
func (i *Inspector) notMember(r *report, p *place) {
	remedy := fmt.Sprintf("invite it: /invite @%s in #%s", i.bot, p.name)
	switch {
	case !p.private && i.granted == nil:
		r.add(Warning, fmt.Sprintf("the bot is not a member of #%s, and Slack does not say whether it may join", p.name), remedy)
	case !p.private && i.granted[channelsJoin]:
		r.add(Warning, fmt.Sprintf("the bot is not a member of #%s yet; it joins with its first message", p.name), "")
	case !p.private && i.granted["chat:write.public"]:
		r.add(Warning, fmt.Sprintf("the bot is not a member of #%s: it can post, but not find out whether an uncertain message was posted",
			p.name), remedy)
	default:
		r.add(Fault, fmt.Sprintf("the bot is not a member of #%s, and cannot post there", p.name), remedy)
	}
}

// notFound reports a channel that Slack does not describe.
func (i *Inspector) notFound(r *report, name string, certain bool, err error) {
	grade, what := Fault, "is named "+name
	if IsChannelID(name) {
		what = "has the id " + name
	}
	switch {
	case err == nil, isRefusal(err, "channel_not_found"):
		if err == nil && !certain {
			grade = Warning
		}
		r.add(grade, "no channel that the bot can see "+what,
			fmt.Sprintf("correct slack_channel; if the channel is private, invite the bot there: /invite @%s", i.bot))
	case isRefusal(err, "missing_scope"):
		r.add(Warning, fmt.Sprintf("%s cannot be checked without the scopes %s and %s", name, channelsRead, groupsRead), addScope)
	case isRefusal(err, "team_not_found", "team_access_not_granted"): // a message is refused in the same way
		message, remedy := describe(err)
		r.add(Fault, fmt.Sprintf("%s %s", name, message), remedy)
	default:
		message, remedy := describe(err)
		r.add(Warning, fmt.Sprintf("%s %s", name, message), remedy)
	}
}

// history checks whether the relay can look up messages.
func (i *Inspector) history(ctx context.Context, r *report, p *place) {
	err := i.call(ctx, methodHistory, func() error {
		_, err := i.client.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: p.id, Limit: 1})
		return err //nolint:wrapcheck // described below
	})
	switch {
	case err == nil:
	case isRefusal(err, "missing_scope"):
		scope := channelsHistory
		if p.private {
			scope = groupsHistory
		}
		if i.granted == nil { // otherwise the token's findings say so
			r.add(Warning, fmt.Sprintf("the relay cannot look up uncertain messages in #%s without the scope %s", p.name, scope), addScope)
		}
	default:
		message, remedy := describe(err)
		r.add(Warning, fmt.Sprintf("the history of #%s %s", p.name, message), remedy)
	}
}
