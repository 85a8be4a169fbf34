package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"slackrelay/events"
	"slackrelay/interaction"
)

// Interactions take in what Slack posts of clicks and commands; *interaction.Receiver implements it.
type Interactions interface {
	// TakesRequests reports whether any is accepted.
	TakesRequests() bool
	// Post takes in a request, and returns when the user has been answered. Without an error it has called acknowledge.
	Post(ctx context.Context, to interaction.Endpoint, header http.Header, body []byte, acknowledge func(answer []byte)) error
	// Reasons are why clicks and commands do not arrive; none = they do.
	Reasons() []string
}

// slackInteractions serves /slack/interactions and /slack/commands, where Slack posts what people do to messages.
func (s *Server) slackInteractions(to interaction.Endpoint) func(in *ingestRequest) error {
	return func(in *ingestRequest) error {
		if !s.opts.Interactions.TakesRequests() {
			return errorf(notFound, "no app of Slack has a slack_signing_secret, so that nothing is accepted here")
		}
		if in.r.Method == http.MethodGet && in.r.URL.Query().Get("ssl_check") == "1" {
			return nil // Slack tests the certificate
		}
		if err := in.requirePost(); err != nil {
			return err
		}
		in.acceptAnyMediaType()
		if err := s.readBodyWithin(in, interaction.MaxRequest); err != nil {
			return err
		}
		err := s.opts.Interactions.Post(in.r.Context(), to, in.r.Header, in.body.wire, func(answer []byte) {
			writeAcknowledgement(in.w, answer)
		})
		return interactionFailure(err)
	}
}

// writeAcknowledgement replies at once, with all of it, although the request goes on: the user gets the answer to a click later.
func writeAcknowledgement(w http.ResponseWriter, answer []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	writeBody(w, http.StatusOK, answer)
	_ = http.NewResponseController(w).Flush() // fails only if Slack is gone
}

// interactionFailure returns the reply to a request by Slack that was not taken in.
func interactionFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, interaction.ErrUnauthorized):
		return errorf(unauthorized, "%v", interaction.ErrUnauthorized)
	case errors.Is(err, interaction.ErrForeign):
		return errorf(forbidden, "%v", interaction.ErrForeign)
	case errors.Is(err, interaction.ErrMalformed):
		return errorf(events.BadField, "%v", interaction.ErrMalformed)
	default:
		return errorf(unavailable, "%v", interaction.ErrUnavailable)
	}
}

// noInteractions is a relay without an app of Slack that takes any.
type noInteractions struct{}

// TakesRequests implements [Interactions].
func (noInteractions) TakesRequests() bool { return false }

// Reasons implements [Interactions].
func (noInteractions) Reasons() []string { return nil }

// Post implements [Interactions].
func (noInteractions) Post(context.Context, interaction.Endpoint, http.Header, []byte, func([]byte)) error {
	return interaction.ErrUnauthorized
}
