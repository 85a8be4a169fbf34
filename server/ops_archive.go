package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// defaultPageSize is how many entries are listed without ?limit.
const defaultPageSize = "50"

// listDead lists dead letters, newest first. Without the right to read texts, those of events are left out.
func (s *Server) listDead(w http.ResponseWriter, r *http.Request) error {
	return listRecords(s, w, r, "dead", s.opts.Archive.Dead, func(letter *pipeline.DeadLetter, texts bool) {
		for i := range letter.Events {
			redact(texts, &letter.Events[i])
		}
	})
}

// listRecords answers a page of records. redacted leaves out of a record what may not be read without texts.
func listRecords[T any](
	s *Server, w http.ResponseWriter, r *http.Request, name string,
	list func(ctx context.Context, channel, before string, most int) ([]T, error), redacted func(record *T, texts bool),
) error {
	before, limit, err := pageOf(r)
	if err != nil {
		return err
	}
	records, err := list(r.Context(), r.PathValue("channel"), before, limit)
	if err != nil {
		return err
	}
	texts := s.mayRead(r)
	for i := range records {
		redacted(&records[i], texts)
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{name: records, "texts": texts})
	return nil
}

func (s *Server) deleteDead(w http.ResponseWriter, r *http.Request) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	if !entryID.MatchString(r.PathValue("id")) {
		return errNotKept(r)
	}
	n, err := s.opts.Archive.DeleteDead(r.Context(), r.PathValue("channel"), r.PathValue("id"))
	if err != nil {
		return err
	}
	if n == 0 {
		return errNotKept(r)
	}
	s.audit(r, "dead letter deleted")
	s.writeJSON(w, r, http.StatusOK, map[string]int{"deleted": n})
	return nil
}

func (s *Server) replayDead(w http.ResponseWriter, r *http.Request) error {
	return s.replay(w, r, s.opts.Archive.ReplayDead, "dead letter sent again")
}

// delivery returns what became of an event whose webhook asked for it.
func (s *Server) delivery(w http.ResponseWriter, r *http.Request) error {
	state, err := s.opts.Archive.Delivery(r.Context(), r.PathValue("channel"), r.PathValue("id"))
	if errors.Is(err, pipeline.ErrNotKept) {
		return errorf(notFound, "nothing is known of %q yet: its message was not tried, or its webhook did not ask for it with ?track=1",
			cutBytes(r.PathValue("id"), maxRefusalMessage))
	}
	if err != nil {
		return err
	}
	s.writeJSON(w, r, http.StatusOK, state)
	return nil
}

// listDrops lists dropped events, in the same way.
func (s *Server) listDrops(w http.ResponseWriter, r *http.Request) error {
	return listRecords(s, w, r, "drops", s.opts.Archive.Drops, func(drop *pipeline.DropRecord, texts bool) { redact(texts, drop.Event) })
}

// drop explains why an event was dropped. The id is that of the drop or of the event.
func (s *Server) drop(w http.ResponseWriter, r *http.Request) error {
	drop, err := s.opts.Archive.Drop(r.Context(), r.PathValue("channel"), r.PathValue("id"))
	if errors.Is(err, pipeline.ErrNotKept) {
		return s.errDropNotKept(r)
	}
	if err != nil {
		return err
	}
	redact(s.mayRead(r), drop.Event)
	s.writeJSON(w, r, http.StatusOK, map[string]any{"drop": drop, "explanation": explain(drop)})
	return nil
}

// explain returns why an event was dropped, as one sentence.
func explain(d pipeline.DropRecord) string {
	if outcome := store.OutcomeOfDrop(d.Level); outcome.Reason() != "" {
		return outcome.Meaning()
	}
	text := fmt.Sprintf("the limit of the %s was reached: %d of %d used", d.Level, d.Used, d.Limit)
	if d.RetryAfter > 0 {
		wait := time.Duration(d.RetryAfter * float64(time.Second)).Round(time.Second)
		text += fmt.Sprintf("; it would have fit %s later", wait)
	}
	return text
}

// errDropNotKept explains why a drop is not found: not every counted drop is recorded.
func (s *Server) errDropNotKept(r *http.Request) error {
	status, err := s.opts.Status.Channel(r.Context(), r.PathValue("channel"))
	if err != nil {
		return err
	}
	return errorf(notFound, "no drop is recorded under %q: it was not dropped in this channel, or it was counted without a record "+
		"(of the %d drops in all, the newest are recorded, and of those that a replica counts in batches, the first of each category)",
		r.PathValue("id"), status.Ledger.Dropped)
}

func (s *Server) replayDrop(w http.ResponseWriter, r *http.Request) error {
	return s.replay(w, r, s.opts.Archive.ReplayDrop, "dropped event sent again")
}

// replayFunc replays the events of one entry; force admits them past the limits.
type replayFunc func(ctx context.Context, channel, id string, force bool) (pipeline.Receipt, error)

// replay replays an entry of the archive, past the limits if the body is {"force": true}, and replies with the receipt.
func (s *Server) replay(w http.ResponseWriter, r *http.Request, send replayFunc, what string) error {
	var wanted struct {
		Force bool `json:"force"`
	}
	if err := s.decodeAdminBody(r, &wanted); err != nil {
		return err
	}
	receipt, err := send(r.Context(), r.PathValue("channel"), r.PathValue("id"), wanted.Force)
	switch {
	case errors.Is(err, pipeline.ErrNotKept):
		return errNotKept(r)
	case err != nil:
		return err
	}
	s.audit(r, what, "forced", wanted.Force, "admitted", receipt.Admitted, "merged", receipt.Merged, "delayed", receipt.Delayed,
		"duplicate", receipt.Duplicate, "dropped", receipt.Dropped)
	s.writeJSON(w, r, http.StatusAccepted, receipt)
	return nil
}

func errNotKept(r *http.Request) error {
	return errorf(notFound, "nothing is kept under the id %q in channel %q", r.PathValue("id"), r.PathValue("channel"))
}

// entryID matches the id of a dead letter or of a drop.
var entryID = regexp.MustCompile(`^[0-9]{1,19}(-[0-9]{1,19})?$`)

// pageOf returns the id that a page continues from ("" = from the newest), and how many entries it lists.
func pageOf(r *http.Request) (before string, limit int, err error) {
	query := r.URL.Query()
	text := cmp.Or(query.Get("limit"), defaultPageSize)
	limit, err = strconv.Atoi(text)
	if err != nil || limit < 1 || limit > pipeline.MaxPage {
		return "", 0, errorf(events.BadField, "limit: %q is not a whole number between 1 and %d",
			cutBytes(text, maxRefusalMessage), pipeline.MaxPage)
	}
	before = query.Get("before")
	if before != "" && !entryID.MatchString(before) {
		return "", 0, errorf(events.BadField, "before: %q is not an id of this list; use one like 1700000000000-0",
			cutBytes(before, maxRefusalMessage))
	}
	return before, limit, nil
}

// redact removes the texts of an event, unless the caller may read them.
func redact(texts bool, e *events.Event) {
	if e == nil || texts {
		return
	}
	*e = events.Event{
		ID: e.ID, Source: e.Source, Channel: e.Channel, Category: e.Category, Severity: e.Severity, Status: e.Status, StartedAt: e.StartedAt,
	}
}
