package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// defaultPage is how many records are listed where nobody says.
const defaultPage = 50

// dead lists dead letters. Without the right to read events, their texts are left out.
func (s *Server) dead(w http.ResponseWriter, r *http.Request) error {
	most, err := pageSize(r)
	if err != nil {
		return err
	}
	before, err := pageBefore(r)
	if err != nil {
		return err
	}
	letters, err := s.opts.Archive.Dead(r.Context(), r.PathValue("channel"), before, most)
	if err != nil {
		return err
	}
	texts := s.mayRead(r)
	for i := range letters {
		for e := range letters[i].Events {
			veil(texts, &letters[i].Events[e])
		}
	}
	if letters == nil {
		letters = []pipeline.DeadLetter{}
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"dead": letters, "texts": texts})
	return nil
}

func (s *Server) deleteDead(w http.ResponseWriter, r *http.Request) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	if !recordID.MatchString(r.PathValue("id")) {
		return notKept(r)
	}
	n, err := s.opts.Archive.DeleteDead(r.Context(), r.PathValue("channel"), r.PathValue("id"))
	if err != nil {
		return err
	}
	if n == 0 {
		return notKept(r)
	}
	s.audit(r, "dead letter deleted")
	s.writeJSON(w, r, http.StatusOK, map[string]int{"deleted": n})
	return nil
}

func (s *Server) replayDead(w http.ResponseWriter, r *http.Request) error {
	return s.replay(w, r, s.opts.Archive.ReplayDead, "dead letter sent again")
}

// drops lists what was dropped, in the same way.
func (s *Server) drops(w http.ResponseWriter, r *http.Request) error {
	most, err := pageSize(r)
	if err != nil {
		return err
	}
	before, err := pageBefore(r)
	if err != nil {
		return err
	}
	drops, err := s.opts.Archive.Drops(r.Context(), r.PathValue("channel"), before, most)
	if err != nil {
		return err
	}
	texts := s.mayRead(r)
	for i := range drops {
		veil(texts, drops[i].Event)
	}
	if drops == nil {
		drops = []pipeline.DropRecord{}
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"drops": drops, "texts": texts})
	return nil
}

// drop explains one drop, by its own id or its event's.
func (s *Server) drop(w http.ResponseWriter, r *http.Request) error {
	drop, err := s.opts.Archive.Drop(r.Context(), r.PathValue("channel"), r.PathValue("id"))
	if errors.Is(err, pipeline.ErrNotKept) {
		return s.dropNotKept(r)
	}
	if err != nil {
		return err
	}
	veil(s.mayRead(r), drop.Event)
	s.writeJSON(w, r, http.StatusOK, map[string]any{"drop": drop, "explanation": explain(drop)})
	return nil
}

// explain says why an event was dropped, in one sentence.
func explain(d pipeline.DropRecord) string {
	switch d.Level {
	case "never":
		return "it asked for more than can ever fit"
	case "full":
		return "the queue for slots is full, or it waited too long"
	case "suppressed":
		return "it says that something is resolved of which the channel was never told"
	}
	said := fmt.Sprintf("the limit of the %s was reached: %d of %d used", d.Level, d.Used, d.Limit)
	if d.RetryAfter > 0 {
		said += fmt.Sprintf("; it would have fit %s later", time.Duration(d.RetryAfter*float64(time.Second)).Round(time.Second))
	}
	return said
}

// dropNotKept says what can be said where nothing is kept.
func (s *Server) dropNotKept(r *http.Request) error {
	status, err := s.opts.Status.Channel(r.Context(), r.PathValue("channel"))
	if err != nil {
		return err
	}
	return errorf(notFound, "nothing is kept of %q: it was not dropped here, or its drop was counted and not kept "+
		"(%d were counted in all, and the record keeps the newest, and the first of each category of each fold)", r.PathValue("id"), status.Ledger.Dropped)
}

func (s *Server) replayDrop(w http.ResponseWriter, r *http.Request) error {
	return s.replay(w, r, s.opts.Archive.ReplayDrop, "dropped event sent again")
}

// replay sends again what is kept, {"force": true} past the limits, and answers what became of it.
func (s *Server) replay(w http.ResponseWriter, r *http.Request, send func(ctx context.Context, channel, id string, force bool) (pipeline.Receipt, error), what string) error {
	var wanted struct {
		Force bool `json:"force"`
	}
	if err := s.order(r, &wanted); err != nil {
		return err
	}
	receipt, err := send(r.Context(), r.PathValue("channel"), r.PathValue("id"), wanted.Force)
	switch {
	case errors.Is(err, pipeline.ErrNotKept):
		return notKept(r)
	case err != nil:
		return err
	}
	s.audit(r, what, "forced", wanted.Force, "admitted", receipt.Admitted, "merged", receipt.Merged, "delayed", receipt.Delayed,
		"duplicate", receipt.Duplicate, "dropped", receipt.Dropped)
	s.writeJSON(w, r, http.StatusAccepted, receipt)
	return nil
}

func notKept(r *http.Request) error {
	return errorf(notFound, "nothing is kept under the id %q in channel %q", r.PathValue("id"), r.PathValue("channel"))
}

func pageSize(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pipeline.MaxPage {
		return 0, errorf(events.BadField, "limit must be a whole number between 1 and %d", pipeline.MaxPage)
	}
	return n, nil
}

// recordID is the id of a dead letter or of a drop.
var recordID = regexp.MustCompile(`^[0-9]{1,19}(-[0-9]{1,19})?$`)

// pageBefore is the id that a page goes on from; "" = the newest.
func pageBefore(r *http.Request) (string, error) {
	before := r.URL.Query().Get("before")
	if before != "" && !recordID.MatchString(before) {
		return "", errorf(events.BadField, "before is %q; it must be the id of a record, like 1700000000000-0", cutBytes(before, maxRefusalMessage))
	}
	return before, nil
}

// isAdmin tells whether a request presents the admin token, or comes from who signed in with it.
func (s *Server) isAdmin(r *http.Request) bool {
	return s.admin.is(bearer(r)) || s.signedIn(r)
}

// requireAdmin refuses what changes state without the admin token.
func (s *Server) requireAdmin(r *http.Request) error {
	switch {
	case !s.admin.set:
		return errorf(forbidden, "this changes state, and no admin token is configured: set RELAY_ADMIN_TOKEN")
	case !s.isAdmin(r):
		return errorf(unauthorized, "this changes state and needs the admin token: send the header Authorization: Bearer <token>")
	default:
		return nil
	}
}

// mayRead tells whether texts of events are shown: to this machine, or to who has the admin token.
func (s *Server) mayRead(r *http.Request) bool { return s.opts.Local || s.isAdmin(r) }

// veil takes the texts out of an event, unless the caller may read them.
func veil(texts bool, e *events.Event) {
	if e != nil && !texts {
		*e = events.Event{ID: e.ID, Source: e.Source, Channel: e.Channel, Category: e.Category, Severity: e.Severity, Status: e.Status, StartedAt: e.StartedAt}
	}
}
