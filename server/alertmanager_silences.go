package server

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"slackrelay/events"
	"slackrelay/silence"
)

// listedSilence is a silence in replies.
type listedSilence struct {
	ID        string            `json:"id"`
	Status    map[string]string `json:"status"`
	UpdatedAt alertmanagerTime  `json:"updatedAt"`
	Comment   string            `json:"comment"`
	CreatedBy string            `json:"createdBy"`
	EndsAt    alertmanagerTime  `json:"endsAt"`
	Matchers  []labelMatcher    `json:"matchers"`
	StartsAt  alertmanagerTime  `json:"startsAt"`
}

// errNoSilence is the error for an id that no silence of the channel has.
func errNoSilence() error { return errorf(notFound, "silence not found") }

// expiredState is Alertmanager's word for a silence that ended.
const expiredState = "expired"

func listedSilenceOf(one silence.Listed) listedSilence {
	listed := listedSilence{
		ID: one.ID, Status: map[string]string{"state": string(one.State)}, UpdatedAt: alertmanagerTime(one.CreatedAt),
		Comment: one.Reason, CreatedBy: one.Author, EndsAt: alertmanagerTime(one.EndsAt), StartsAt: alertmanagerTime(one.StartsAt),
		Matchers: make([]labelMatcher, len(one.Matchers)),
	}
	if one.State == silence.Ended {
		listed.Status["state"] = expiredState
		listed.UpdatedAt = listed.EndsAt
	}
	for i, m := range one.Matchers {
		listed.Matchers[i] = labelMatcherOf(m)
	}
	return listed
}

// silencesOf returns the silences that may mute events of a channel: its own, and those of all channels.
func (s *Server) silencesOf(in *ingestRequest, channel string) ([]silence.Listed, error) {
	all, err := s.opts.Silences.List(in.r.Context())
	if err != nil {
		return nil, err //nolint:wrapcheck // the reply depends on its kind
	}
	return slices.DeleteFunc(all, func(one silence.Listed) bool { return one.Channel != "" && one.Channel != channel }), nil
}

// silenceOf returns the silence of the path.
func (s *Server) silenceOf(in *ingestRequest, channel string) (silence.Listed, error) {
	return s.silenceByID(in, channel, in.r.PathValue("id"))
}

func (s *Server) silenceByID(in *ingestRequest, channel, id string) (silence.Listed, error) {
	all, err := s.silencesOf(in, channel)
	if err != nil {
		return silence.Listed{}, err
	}
	i := slices.IndexFunc(all, func(one silence.Listed) bool { return one.ID == id })
	if i < 0 {
		return silence.Listed{}, errNoSilence()
	}
	return all[i], nil
}

// silenceOrder is the order of states in lists.
var silenceOrder = map[silence.State]int{silence.Active: 0, silence.Pending: 1, silence.Ended: 2}

// listChannelSilences lists active silences first, the next to end before the others, then pending and ended ones.
func (s *Server) listChannelSilences(d door, in *ingestRequest) error {
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return err
	}
	filter, err := parseFilter(in.query()["filter"])
	if err != nil {
		return err
	}
	all, err := s.silencesOf(in, caller.channel)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b silence.Listed) int {
		byEnd := a.EndsAt.Compare(b.EndsAt)
		if a.State == silence.Ended {
			byEnd = -byEnd
		}
		if a.State == silence.Pending {
			byEnd = a.StartsAt.Compare(b.StartsAt)
		}
		return cmp.Or(cmp.Compare(silenceOrder[a.State], silenceOrder[b.State]), byEnd, cmp.Compare(a.ID, b.ID))
	})
	listed := []listedSilence{}
	for _, one := range all {
		if l := listedSilenceOf(one); l.hasAll(filter) {
			listed = append(listed, l)
		}
	}
	s.writeJSON(in.w, in.r, http.StatusOK, listed)
	return nil
}

// hasAll reports whether a silence has all these matchers.
func (l listedSilence) hasAll(filter []labelFilter) bool {
	return !slices.ContainsFunc(filter, func(f labelFilter) bool { return !slices.Contains(l.Matchers, f.labelMatcher) })
}

func (s *Server) showSilence(d door, in *ingestRequest) error {
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return err
	}
	one, err := s.silenceOf(in, caller.channel)
	if err != nil {
		return err
	}
	s.writeJSON(in.w, in.r, http.StatusOK, listedSilenceOf(one))
	return nil
}

// requireSilencing returns an error unless a caller may make and end silences; of all channels only with the admin token.
func (c alertmanagerCaller) requireSilencing(channel string) error {
	switch {
	case !c.maySilence:
		return errorf(forbidden, "this credential may not make or end silences; send the admin token, or set silences: true on the credential")
	case channel == "" && !c.admin:
		return errorf(forbidden, "this silence is for all channels; send the admin token")
	default:
		return nil
	}
}

func (s *Server) deleteSilence(d door, in *ingestRequest) error {
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return err
	}
	one, err := s.silenceOf(in, caller.channel)
	if err != nil {
		return err
	}
	if err := caller.requireSilencing(one.Channel); err != nil {
		return err
	}
	if _, err := s.opts.Silences.Expire(in.r.Context(), one.ID); err != nil {
		return alertmanagerSilenceError(err)
	}
	s.auditSilence(in, caller, "silence expired", "silence", one.ID)
	in.w.WriteHeader(http.StatusOK)
	return nil
}

// postSilence makes a silence of the channel, or changes one. A change of the matchers, or of a silence that ended, is a new one.
func (s *Server) postSilence(d door, in *ingestRequest) error {
	if err := in.requireJSON(); err != nil {
		return err
	}
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return err
	}
	if err := caller.requireSilencing(caller.channel); err != nil {
		return err
	}
	one, id, err := s.decodeSilence(in)
	if err != nil {
		return err
	}
	one.Channel = caller.channel
	if id != "" {
		old, err := s.silenceByID(in, caller.channel, id)
		if err != nil {
			return err
		}
		if err := caller.requireSilencing(old.Channel); err != nil {
			return err
		}
		one.Channel = old.Channel
	}
	made, err := s.opts.Silences.Replace(in.r.Context(), id, one)
	if err != nil {
		return alertmanagerSilenceError(err)
	}
	s.auditSilence(in, caller, "silence created",
		"silence", made.ID, "silenced", made.Channel, "ends_at", made.EndsAt, "author", made.Author)
	s.writeJSON(in.w, in.r, http.StatusOK, map[string]string{"silenceID": made.ID})
	return nil
}

// alertmanagerSilenceError gives an error the words of Alertmanager.
func alertmanagerSilenceError(err error) error {
	switch {
	case errors.Is(err, silence.ErrInvalid), errors.Is(err, silence.ErrTooMany):
		return errorf(events.BadField, "silence invalid: %s", strings.TrimPrefix(err.Error(), silence.ErrInvalid.Error()+": "))
	case errors.Is(err, silence.ErrNotFound):
		return errNoSilence()
	default:
		return silenceError(err)
	}
}
