package server

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// door is an endpoint in the shape of another product's, for senders of which only the URL can be changed: the path, the place of
// the credential, the reply and the errors are those of the product. As at every endpoint, events that the limits drop are a
// success.
type door struct {
	source string // the body format
	place  string // where the sender presents its credential; for errors
	handle func(d door, s *Server, in *ingestRequest) error
	fail   func(s *Server, f doorFault)
}

// doorFault is an error that a door replies to.
type doorFault struct {
	w       http.ResponseWriter
	r       *http.Request
	status  int // as /hooks would reply
	code    events.Code
	message string
}

// doors are the endpoints in the shape of other products, by their patterns.
var doors = map[string]door{
	"/api/webhooks/{channel}/{token}":        discordDoor("discord", replyDiscord),
	"/api/webhooks/{channel}/{token}/slack":  discordDoor(slackSource, replyText("ok")),
	"/api/webhooks/{channel}/{token}/github": discordDoor("github", replyNothing(http.StatusNoContent)),

	"/webhookb2/{channel}/{token...}":                   teamsConnector,
	"/workflows/{channel}/triggers/manual/paths/invoke": teamsWorkflow,

	"/powerautomate/automations/direct/workflows/{channel}/triggers/manual/paths/invoke": teamsWorkflow,

	"/v1/spaces/{channel}/messages":          googleChatDoor,
	"/mattermost/hooks/{channel}/{token...}": mattermostDoor,
	"/mattermost/hooks/{token}":              mattermostDoor,

	"/v2/alerts":                       opsgenieDoor(createOpsgenieAlert),
	"/v2/alerts/{identifier}":          opsgenieDoor(deleteOpsgenieAlert),
	"/v2/alerts/{identifier}/{action}": opsgenieDoor(changeOpsgenieAlert),
	"/v2/heartbeats/{name}/ping":       opsgenieHeartbeat,

	"/v2/enqueue":                           pagerdutyDoor(pagerdutyV2),
	"/v2/change/enqueue":                    pagerdutyDoor(pagerdutyChange),
	"/generic/2010-04-15/create_event.json": pagerdutyDoor(pagerdutyV1),
}

// door returns the handler of a door.
func (s *Server) door(d door) http.Handler {
	return s.endpoint(
		func(in *ingestRequest) error {
			in.source = d.source
			in.acceptAnyMediaType()
			return d.handle(d, s, in)
		},
		func(w http.ResponseWriter, r *http.Request, err error) {
			reply := replyTo(err)
			s.refuse(w, r, r.PathValue("channel"), err)
			status := failures[reply.Code].status
			if status == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
			}
			d.fail(s, doorFault{w: w, r: r, status: status, code: reply.Code, message: reply.Message})
		},
	)
}

// postDoor handles a door that takes a message by POST. token returns the credential of a request, reply writes the reply.
func postDoor(
	token func(r *http.Request) string, reply func(s *Server, in *ingestRequest, arrival pipeline.Arrival),
) func(d door, s *Server, in *ingestRequest) error {
	return func(d door, s *Server, in *ingestRequest) error {
		if err := in.requirePost(); err != nil {
			return err
		}
		in.token = token(in.r)
		from, err := s.identifyAtDoor(d, in)
		if err != nil {
			return err
		}
		arrival, _, err := s.accept(in, from)
		if err != nil {
			return err
		}
		in.release()
		reply(s, in, arrival)
		return nil
	}
}

// identifyAtDoor finds out who sends a request whose credential needs no body, and reads the body.
func (s *Server) identifyAtDoor(d door, in *ingestRequest) (sender, error) {
	if in.r.PathValue("channel") == "" {
		channel, err := s.channelOfCredential(d, in)
		if err != nil {
			return sender{}, err
		}
		in.r.SetPathValue("channel", channel)
	}
	channel := in.r.PathValue("channel")
	from, err := s.identify(in, channel)
	if input, ok := errors.AsType[*events.InputError](err); ok && input.Code == unauthorized {
		err = errorf(unauthorized, "channel %q does not accept this credential; use its ingress token as %s", channel, d.place)
	}
	return from, err
}

// channelOfCredential returns the channel of a request whose path names none: the only one that accepts its token, or the one that
// ?channel= names. Channels without a credential count only if the token is that of no channel. A channel that does not accept the
// sender's address is left out, so that the reply does not reveal whether the token is valid.
func (s *Server) channelOfCredential(d door, in *ingestRequest) (string, error) {
	if named := in.query().Get("channel"); named != "" {
		return named, nil
	}
	candidates := s.byToken[digest(cmp.Or(in.token, bearer(in.r)))]
	if len(candidates) == 0 {
		candidates = s.open
	}
	accepts := ""
	for _, channel := range candidates {
		if _, err := s.ingressOf(in, channel); err != nil {
			continue
		}
		if accepts != "" {
			return "", errorf(forbidden, "several channels accept this credential, and this path names none; "+
				"add ?channel=<name> to the URL, or give each channel a token of its own")
		}
		accepts = channel
	}
	if accepts == "" {
		return "", errorf(unauthorized, "no channel accepts this credential; use the ingress token of a channel as %s", d.place)
	}
	return accepts, nil
}

// addTokens lists a channel by its tokens, among those with other credentials, and among those without any.
func (s *Server) addTokens(ch Channel) {
	if ch.IngressToken == "" && len(ch.Credentials) == 0 {
		s.open = append(s.open, ch.Name)
	}
	tokens := []string{ch.IngressToken}
	hasOthers := false
	for _, c := range ch.Credentials {
		if c.Kind == "bearer" || c.Kind == "url" {
			tokens = append(tokens, c.Secret)
		} else {
			hasOthers = true
		}
	}
	if hasOthers {
		s.otherwise = append(s.otherwise, ch.Name)
	}
	slices.Sort(tokens)
	for _, token := range slices.Compact(tokens) {
		if token != "" {
			s.byToken[digest(token)] = append(s.byToken[digest(token)], ch.Name)
		}
	}
}

// queryToken returns the function that reads a credential from a parameter of the URL.
func queryToken(name string) func(r *http.Request) string {
	return func(r *http.Request) string { return r.URL.Query().Get(name) }
}

// replyText returns the function that replies with 200 and a text without a newline, because senders compare it.
func replyText(text string) func(s *Server, in *ingestRequest, _ pipeline.Arrival) {
	return func(_ *Server, in *ingestRequest, _ pipeline.Arrival) { writeSlackText(in.w, http.StatusOK, text) }
}

// replyNothing returns the function that replies with a status and no body.
func replyNothing(status int) func(s *Server, in *ingestRequest, _ pipeline.Arrival) {
	return func(_ *Server, in *ingestRequest, _ pipeline.Arrival) { in.w.WriteHeader(status) }
}

// writeJSON replies with an error as JSON.
func (f doorFault) writeJSON(s *Server, status int, v any) { s.writeJSON(f.w, f.r, status, v) }
