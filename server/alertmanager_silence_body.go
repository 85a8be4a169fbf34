package server

import (
	"time"

	"slackrelay/events"
	"slackrelay/silence"
)

// postedSilence is the body of POST /api/v2/silences.
type postedSilence struct {
	ID        string         `json:"id"`
	Matchers  []labelMatcher `json:"matchers"`
	StartsAt  *time.Time     `json:"startsAt"`
	EndsAt    *time.Time     `json:"endsAt"`
	CreatedBy *string        `json:"createdBy"`
	Comment   *string        `json:"comment"`
}

// decodeSilence decodes and checks the body of a request, with the errors of Alertmanager.
func (s *Server) decodeSilence(in *ingestRequest) (one silence.Silence, id string, err error) {
	if err := s.parse(in); err != nil {
		return one, "", err
	}
	var posted postedSilence
	if len(in.body.plain) > maxAdminBody {
		return one, "", errorf(bodyTooLarge, "the body has more than %d bytes; shorten it", maxAdminBody)
	}
	if err := in.decodeAlertmanagerBody("silence", &posted); err != nil {
		return one, "", err
	}
	if err := posted.check(in.now); err != nil {
		return one, "", err
	}
	one = silence.Silence{StartsAt: *posted.StartsAt, EndsAt: *posted.EndsAt, Author: *posted.CreatedBy, Reason: *posted.Comment}
	if one.StartsAt.Before(in.now) {
		one.StartsAt = time.Time{} // now
	}
	for _, m := range posted.Matchers {
		one.Matchers = append(one.Matchers, m.matcher())
	}
	return one, posted.ID, nil
}

// check returns why a silence is not valid.
func (p postedSilence) check(now time.Time) error {
	switch {
	case p.Comment == nil:
		return errRequired("comment")
	case p.CreatedBy == nil:
		return errRequired("createdBy")
	case p.EndsAt == nil:
		return errRequired("endsAt")
	case p.Matchers == nil:
		return errRequired("matchers")
	case p.StartsAt == nil:
		return errRequired("startsAt")
	case !p.StartsAt.Before(*p.EndsAt):
		return errorf(events.BadField, "Failed to create silence: start time must be before end time")
	case p.EndsAt.Before(now):
		return errorf(events.BadField, "Failed to create silence: end time can't be in the past")
	}
	matchesAnything := len(p.Matchers) > 0
	for i, m := range p.Matchers {
		f, err := m.filter()
		if err != nil {
			return errorf(events.BadField, "silence invalid: invalid label matcher %d: %v", i, err)
		}
		if m.Name == "" {
			return errorf(events.BadField, "silence invalid: invalid label matcher %d: invalid label name %q", i, m.Name)
		}
		matchesAnything = matchesAnything && f.matches("")
	}
	if matchesAnything {
		return errorf(events.BadField, "silence invalid: at least one matcher must not match the empty string")
	}
	return nil
}
