package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// maxChannels is the largest number of channels of a page, and how many there are without ?limit.
const maxChannels = 500

// channelPage is the reply of GET /api/v1/channels.
type channelPage struct {
	Channels []pipeline.ChannelStatus `json:"channels"`
	Next     string                   `json:"next,omitempty"` // the value of ?after for the next page; absent = this is the last one
}

// listChannels lists channels in the order of the configuration: ?name=, ?state=, ?limit=, ?after=. If they cannot be read, the
// last reading serves for a minute.
func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) error {
	selection, err := selectionOf(r.URL.Query())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	reading, err := s.soonReading(ctx)
	if last := s.opts.Status.Latest(); err != nil && last != nil && time.Since(last.At) <= recentReading {
		reading, err = last, nil
	}
	if err != nil {
		return err
	}
	page, err := reading.Select(selection)
	if errors.Is(err, pipeline.ErrUnknownChannel) {
		return errorf(events.BadField, "after: there is no channel %q; begin again without after", selection.After)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Age", strconv.Itoa(int(time.Since(reading.At).Seconds())))
	s.writeJSON(w, r, http.StatusOK, channelPage{Channels: page.Channels, Next: page.Next})
	return nil
}

// hasChannel reports whether there is a channel of that name: a configured one, or one that a template made.
func (s *Server) hasChannel(name string) bool {
	_, configured := s.ingresses[name]
	return configured || s.opts.Status.HasInstance(name)
}

// soonReadingWait is how long a caller waits for a new reading of many channels before it gets the last one.
const soonReadingWait = 100 * time.Millisecond

// soonReading returns a new reading of the channels if it is made soon, or if the last one is old, else the last one.
func (s *Server) soonReading(ctx context.Context) (*pipeline.Reading, error) {
	last := s.opts.Status.Latest()
	if last == nil || s.opts.Status.ReadsAlways() || time.Since(last.At) > recentReading {
		return s.opts.Status.Reading(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, soonReadingWait)
	defer cancel()
	reading, err := s.opts.Status.Reading(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return last, nil
	}
	return reading, err
}

// selectionOf reads which channels a caller wants.
func selectionOf(query url.Values) (pipeline.Selection, error) {
	selection := pipeline.Selection{
		Name: query.Get("name"), Condition: pipeline.Condition(query.Get("state")), After: query.Get("after"), Limit: maxChannels,
	}
	if selection.Condition != "" && !slices.Contains(pipeline.Conditions, selection.Condition) {
		return selection, errorf(events.BadField, "state: %q is not a state; use one of %v", selection.Condition, pipeline.Conditions)
	}
	if text := query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxChannels {
			return selection, errorf(events.BadField, "limit: %q is not a number from 1 to %d", text, maxChannels)
		}
		selection.Limit = limit
	}
	return selection, nil
}
