package slackapp

import (
	"context"
	"strings"

	"github.com/slack-go/slack"
)

const (
	// listPage and maxListed bound a listing of channels.
	listPage  = 1000
	maxListed = 20_000
	// listFrom is how many channels are to be checked before listing all of them costs less than asking about each.
	listFrom = 25
)

// place is what Slack says of a channel.
type place struct {
	id, name                               string
	member, private, im, archived, limited bool
}

func placeOf(c *slack.Channel) *place {
	return &place{
		id: c.ID, name: c.Name, member: c.IsMember, private: c.IsPrivate, im: c.IsIM, archived: c.IsArchived, limited: c.IsReadOnly,
	}
}

// listing is the channels that the bot can see.
type listing struct {
	byID, byName map[string]*place
	complete     bool // there are no others: public and private ones were listed, to the end
	asked        int  // how many were asked about that are not listed
}

// Expect tells the Inspector which channels will be checked: many are listed at once, which needs far fewer calls than asking
// about each. An error is not fatal: then each is asked about.
func (i *Inspector) Expect(ctx context.Context, names []string) error {
	ids := 0
	for _, name := range names {
		if IsChannelID(name) {
			ids++
		}
	}
	if ids <= listFrom || i.orgWide { // a listing would be of one workspace
		return nil
	}
	return i.list(ctx)
}

// find looks a channel up; nil = there is none, or, without certain, none was found.
func (i *Inspector) find(ctx context.Context, name string) (found *place, certain bool, err error) {
	name = strings.TrimPrefix(name, "#")
	if !IsChannelID(name) {
		if err := i.list(ctx); err != nil {
			return nil, false, err
		}
		return i.listed.byName[name], i.listed.complete, nil
	}
	if i.listed != nil {
		if known := i.listed.byID[name]; known != nil {
			return known, true, nil
		}
		if i.listed.asked++; i.listed.asked > listFrom {
			return nil, i.listed.complete && name[0] == 'C', nil // direct messages and those of groups are not listed
		}
	}
	err = i.call(ctx, methodInfo, func() error {
		channel, err := i.client.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: name})
		if err == nil {
			found = placeOf(channel)
		}
		return err //nolint:wrapcheck // described by the caller
	})
	return found, true, err
}

// list lists all channels that the bot can see, once.
func (i *Inspector) list(ctx context.Context) error {
	if i.listed != nil {
		return nil
	}
	var types []string
	if i.has(channelsRead) {
		types = append(types, "public_channel")
	}
	if i.has(groupsRead) {
		types = append(types, "private_channel")
	}
	all := &listing{byID: map[string]*place{}, byName: map[string]*place{}}
	params := slack.GetConversationsParameters{Types: types, Limit: listPage}
	for len(all.byID) < maxListed {
		var page []slack.Channel
		err := i.call(ctx, methodList, func() (err error) {
			page, params.Cursor, err = i.client.GetConversationsContext(ctx, &params)
			return err //nolint:wrapcheck // described by the caller
		})
		if err != nil {
			return err
		}
		for n := range page {
			p := placeOf(&page[n])
			all.byID[p.id] = p
			if known := all.byName[p.name]; known == nil || known.archived {
				all.byName[p.name] = p // the name of an archived channel may be used again
			}
		}
		if params.Cursor == "" {
			all.complete = i.has(channelsRead) && i.has(groupsRead)
			break
		}
	}
	i.listed = all
	return nil
}
