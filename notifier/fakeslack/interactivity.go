package fakeslack

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// interactivity is what the fake Slack knows of clicks and commands.
type interactivity struct {
	mu      sync.Mutex
	tickets map[string]bool // of sockets that may be opened
	sockets []*socket
	pending map[string]chan json.RawMessage // of envelopes, by id
	last    int
	url     string // where requests are posted; "" = sockets
	secret  string
	replies map[string]*replyURL
	answers []Answer
}

func (i *interactivity) init() {
	i.tickets, i.pending, i.replies = map[string]bool{}, map[string]chan json.RawMessage{}, map[string]*replyURL{}
}

// replyURL is where the answers to a click or command are posted.
type replyURL struct {
	user, channel string
	message       string // that was clicked
	ephemeral     bool   // it is an answer that only the user sees
	uses          int
}

// maxReplies is how many answers a response_url takes.
const maxReplies = 5

// Answer is what only one user sees.
type Answer struct {
	User, Channel string
	TS            string // by which the user may click on it
	Text          string
	Blocks        json.RawMessage
	Replaced      bool // it is in the place of an earlier answer
	Original      bool // it replaced the message that everybody sees
	At            time.Time
}

// PostTo makes clicks and commands arrive as requests to a URL, signed with a secret, instead of by sockets.
func (s *Server) PostTo(base, secret string) {
	s.interactivity.mu.Lock()
	defer s.interactivity.mu.Unlock()
	s.interactivity.url, s.interactivity.secret = strings.TrimSuffix(base, "/"), secret
}

// Answers returns what a user was answered, in order.
func (s *Server) Answers(user string) []Answer {
	s.interactivity.mu.Lock()
	defer s.interactivity.mu.Unlock()
	var found []Answer
	for _, a := range s.interactivity.answers {
		if a.User == user {
			found = append(found, a)
		}
	}
	return found
}

// Click clicks on a button of a message, or of an answer, as a user. It returns when the click is acknowledged; an error is what
// Slack shows beside the button.
func (s *Server) Click(user, ts, actionID string) error {
	payload, err := s.ClickPayload(user, ts, actionID)
	if err != nil {
		return err
	}
	_, err = s.send("interactive", payload)
	return err
}

// Command types a slash command in a channel. The answer in the acknowledgement is among the answers of the user.
func (s *Server) Command(user, channel, text string) error {
	fields := s.CommandPayload(user, channel, text)
	answer, err := s.send("slash_commands", fields)
	if err != nil || len(answer) == 0 {
		return err
	}
	return s.record(replyURL{user: user, channel: channel}, answer)
}

// CommandPayload returns what Slack delivers of a slash command.
func (s *Server) CommandPayload(user, channel, text string) map[string]any {
	return map[string]any{
		"token": "legacy", "team_id": Team, "team_domain": "fake", "channel_id": channel, "channel_name": strings.ToLower(channel),
		"user_id": user, "user_name": strings.ToLower(user), "command": "/relay", "text": text, "api_app_id": AppID,
		"is_enterprise_install": "false", "trigger_id": fmt.Sprint(rand.Uint64()), //nolint:gosec // of a test
		"response_url": s.replyURL(replyURL{user: user, channel: channel}),
	}
}

// Send delivers a payload over a socket, or as a signed request, whatever it contains. The kind is that of an envelope.
func (s *Server) Send(envelope string, payload any) error {
	_, err := s.send(envelope, payload)
	return err
}

// send delivers a payload, and returns the answer in the acknowledgement.
func (s *Server) send(envelope string, payload any) (json.RawMessage, error) {
	s.interactivity.mu.Lock()
	base, secret := s.interactivity.url, s.interactivity.secret
	s.interactivity.mu.Unlock()
	if base == "" {
		return s.deliver(envelope, payload)
	}
	encoded, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encode the payload: %w", err)
	}
	form, path := url.Values{"payload": {string(encoded)}}, "/slack/interactions"
	if fields, ok := payload.(map[string]any); ok && envelope == "slash_commands" {
		form, path = url.Values{}, "/slack/commands"
		for name, value := range fields {
			form.Set(name, fmt.Sprint(value))
		}
	}
	return postSigned(base+path, secret, []byte(form.Encode()))
}

// postSigned posts a form as Slack does.
func postSigned(to, secret string, body []byte) (json.RawMessage, error) {
	request, err := http.NewRequest(http.MethodPost, to, strings.NewReader(string(body))) //nolint:noctx // the client has a timeout
	if err != nil {
		return nil, fmt.Errorf("post the payload: %w", err)
	}
	request.Header = Signature(secret, time.Now(), body)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Timeout: acknowledgeWithin}
	response, err := client.Do(request)
	if err != nil {
		return nil, ErrNotAcknowledged
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("acknowledged with %d: %s", response.StatusCode, answer)
	}
	return answer, nil
}

// Signature returns the headers with which Slack signs a body.
func Signature(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return http.Header{
		"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

// replyURL returns a new response_url.
func (s *Server) replyURL(to replyURL) string {
	id := fmt.Sprintf("%d-%d", time.Now().UnixNano(), rand.Uint64()) //nolint:gosec // of a test
	s.interactivity.mu.Lock()
	defer s.interactivity.mu.Unlock()
	s.interactivity.replies[id] = &to
	return s.base + "/actions/" + id
}

// respond handles an answer that is posted to a response_url.
func (s *Server) respond(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.interactivity.mu.Lock()
	to := s.interactivity.replies[r.PathValue("id")]
	if to == nil || to.uses == maxReplies {
		s.interactivity.mu.Unlock()
		writeText(w, http.StatusNotFound, `{"ok":false,"error":"expired_url"}`)
		return
	}
	to.uses++
	at := *to
	s.interactivity.mu.Unlock()
	if err != nil || s.record(at, body) != nil {
		writeText(w, http.StatusBadRequest, "invalid_payload")
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// record adds an answer to those of a user.
func (s *Server) record(to replyURL, body []byte) error {
	var message struct {
		Type    string          `json:"response_type"`
		Replace bool            `json:"replace_original"`
		Text    string          `json:"text"`
		Blocks  json.RawMessage `json:"blocks"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if message.Text == "" && message.Blocks == nil || cmp.Or(message.Type, "ephemeral") != "ephemeral" {
		return errors.New("no text, or one for everybody")
	}
	answer := Answer{User: to.user, Channel: to.channel, Text: message.Text, Blocks: message.Blocks, At: time.Now()}
	s.mu.Lock()
	s.lastTS = max(s.lastTS+1, answer.At.UnixMicro())
	answer.TS = fmt.Sprintf("%d.%06d", s.lastTS/1e6, s.lastTS%1e6)
	s.mu.Unlock()
	answer.Replaced, answer.Original = message.Replace && to.ephemeral, message.Replace && !to.ephemeral && to.message != ""
	s.interactivity.mu.Lock()
	defer s.interactivity.mu.Unlock()
	s.interactivity.answers = append(s.interactivity.answers, answer)
	return nil
}
