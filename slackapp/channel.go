package slackapp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

const (
	addScope = "add it under OAuth & Permissions, and install the app to the workspace again"
	// listPage and maxListed bound a search for a name.
	listPage  = 1000
	maxListed = 20_000
)

// Channel checks a Slack channel, by its id or name, for the relay's channel that posts to it: whether it exists, whether the
// bot may post there, and whether the relay can look up uncertain messages. Call Token first.
func (i *Inspector) Channel(ctx context.Context, subject, name string) []Finding {
	r := &report{subject: subject}
	channel, err := i.find(ctx, name)
	if err != nil {
		i.notFound(r, name, err)
		return r.findings
	}
	if channel == nil {
		r.add(Fault, fmt.Sprintf("no channel that the bot can see is named %s", name),
			fmt.Sprintf("correct slack_channel; if the channel is private, invite the bot there: /invite @%s", i.bot))
		return r.findings
	}
	if !IsChannelID(name) {
		r.add(Warning, fmt.Sprintf("%s is a name, which may change", name), "set slack_channel to its id, "+channel.ID)
	}
	switch {
	case channel.IsArchived:
		r.add(Fault, fmt.Sprintf("#%s is archived", channel.Name), "unarchive it, or set another slack_channel")
	case !channel.IsMember && !channel.IsIM:
		i.notMember(r, channel)
	default:
		if channel.IsReadOnly {
			r.add(Warning, fmt.Sprintf("#%s is read-only for some", channel.Name),
				"let the bot post there: in the channel's settings, Posting permissions")
		}
		i.history(ctx, r, channel)
	}
	if Worst(r.findings) != Fault {
		r.add(OK, fmt.Sprintf("the bot can post to #%s (%s)", channel.Name, channel.ID), "")
	}
	return r.findings
}

// notMember reports a channel that the bot is not a member of.
func (i *Inspector) notMember(r *report, channel *slack.Channel) {
	remedy := fmt.Sprintf("invite it: /invite @%s in #%s", i.bot, channel.Name)
	switch {
	case !channel.IsPrivate && i.granted[channelsJoin]:
		r.add(Warning, fmt.Sprintf("the bot is not a member of #%s yet; it joins with its first message", channel.Name), "")
	case !channel.IsPrivate && i.granted["chat:write.public"]:
		r.add(Warning, fmt.Sprintf("the bot is not a member of #%s: it can post, but not find out whether an uncertain message was posted",
			channel.Name), remedy)
	default:
		r.add(Fault, fmt.Sprintf("the bot is not a member of #%s, and cannot post there", channel.Name), remedy)
	}
}

// notFound reports a channel that Slack does not describe.
func (i *Inspector) notFound(r *report, name string, err error) {
	switch {
	case isRefusal(err, "channel_not_found"):
		r.add(Fault, fmt.Sprintf("no channel that the bot can see has the id %s", name),
			fmt.Sprintf("correct slack_channel; if the channel is private, invite the bot there: /invite @%s", i.bot))
	case isRefusal(err, "missing_scope"):
		r.add(Warning, fmt.Sprintf("%s cannot be checked without the scopes %s and %s", name, channelsRead, groupsRead), addScope)
	default:
		message, remedy := describe(err)
		r.add(Warning, fmt.Sprintf("%s %s", name, message), remedy)
	}
}

// history checks whether the relay can look up messages.
func (i *Inspector) history(ctx context.Context, r *report, channel *slack.Channel) {
	err := i.patiently(ctx, func() error {
		_, err := i.client.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: channel.ID, Limit: 1})
		return err //nolint:wrapcheck // described below
	})
	switch {
	case err == nil:
	case isRefusal(err, "missing_scope"):
		scope := channelsHistory
		if channel.IsPrivate {
			scope = groupsHistory
		}
		if i.granted == nil { // otherwise the token's findings say so
			r.add(Warning, fmt.Sprintf("the relay cannot look up uncertain messages in #%s without the scope %s", channel.Name, scope), addScope)
		}
	default:
		message, remedy := describe(err)
		r.add(Warning, fmt.Sprintf("the history of #%s %s", channel.Name, message), remedy)
	}
}

// find looks a channel up; nil = there is none of this name.
func (i *Inspector) find(ctx context.Context, name string) (*slack.Channel, error) {
	name = strings.TrimPrefix(name, "#")
	if !IsChannelID(name) {
		if err := i.list(ctx); err != nil {
			return nil, err
		}
		return i.byName[name], nil
	}
	var channel *slack.Channel
	err := i.patiently(ctx, func() (err error) {
		channel, err = i.client.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: name})
		return err //nolint:wrapcheck // described by the caller
	})
	return channel, err
}

// list lists all channels by name, once.
func (i *Inspector) list(ctx context.Context) error {
	if i.byName != nil {
		return nil
	}
	var types []string
	if i.has(channelsRead) {
		types = append(types, "public_channel")
	}
	if i.has(groupsRead) {
		types = append(types, "private_channel")
	}
	byName := map[string]*slack.Channel{}
	params := slack.GetConversationsParameters{Types: types, Limit: listPage}
	for len(byName) < maxListed {
		var page []slack.Channel
		err := i.patiently(ctx, func() (err error) {
			page, params.Cursor, err = i.client.GetConversationsContext(ctx, &params)
			return err //nolint:wrapcheck // described by the caller
		})
		if err != nil {
			return err
		}
		for n := range page {
			byName[page[n].Name] = &page[n]
		}
		if params.Cursor == "" {
			break
		}
	}
	i.byName = byName
	return nil
}

// maxPatience is how long a check waits for Slack's rate limit.
const maxPatience = time.Minute

// patiently calls Slack, and calls again after the time that a rate limit asks for.
func (i *Inspector) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		limited, ok := errors.AsType[*slack.RateLimitedError](err)
		if !ok || limited.RetryAfter > maxPatience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(limited.RetryAfter, time.Second)):
		}
	}
}
