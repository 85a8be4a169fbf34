package pipeline

import (
	"fmt"
	"strings"
)

// Selection selects channels of a [Reading]. The zero value selects none, because Limit is 0.
type Selection struct {
	Name      string    // contained in the name, in upper or lower case; "" = any
	Condition Condition // "" = any
	After     string    // the channel after which the page begins; "" = the first page
	Limit     int       // the largest number of channels of the page
}

// Page is a part of the channels of a [Reading] that match a [Selection], in the order of the configuration.
type Page struct {
	Channels []ChannelStatus
	Next     string // the value of After for the next page; "" = this is the last one
	Matching int    // channels on all pages
}

// Select returns a page. It returns [ErrUnknownChannel] if After is not a channel.
func (r *Reading) Select(selection Selection) (Page, error) {
	first := 0
	if selection.After != "" {
		after, ok := r.index[selection.After]
		if !ok {
			return Page{}, fmt.Errorf("channel %q: %w", selection.After, ErrUnknownChannel)
		}
		first = after + 1
	}
	page := Page{Channels: []ChannelStatus{}}
	name := strings.ToLower(selection.Name)
	for i := range r.Channels {
		ch := &r.Channels[i]
		if !strings.Contains(strings.ToLower(ch.Channel), name) || selection.Condition != "" && ch.Condition() != selection.Condition {
			continue
		}
		page.Matching++
		switch {
		case i < first:
		case len(page.Channels) < selection.Limit:
			page.Channels = append(page.Channels, *ch)
		case page.Next == "":
			page.Next = page.Channels[len(page.Channels)-1].Channel
		}
	}
	return page, nil
}

// Channel returns a channel, and whether there is one of that name.
func (r *Reading) Channel(name string) (ChannelStatus, bool) {
	i, ok := r.index[name]
	if !ok {
		return ChannelStatus{}, false
	}
	return r.Channels[i], true
}
