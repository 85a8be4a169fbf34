// Package fakechat is a Mattermost and a Rocket.Chat for tests: their incoming webhooks over real HTTP, with the answers that their
// documentation and sources have.
package fakechat

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Post is a message that a server has accepted.
type Post struct {
	Text        string
	Attachments []Attachment
	// Mentions are the mentions of everyone in it.
	Mentions []string
}

// Attachment is a part of a message that both servers show.
type Attachment struct {
	Fallback string `json:"fallback"`
	Color    string `json:"color"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
}

// Refusal makes a server refuse requests.
type Refusal struct {
	Status int
	// Error is the id of Mattermost's error, or Rocket.Chat's error.
	Error string
	// RetryIn is after how many seconds a request with status 429 may be repeated.
	RetryIn int
}

// Server is one of the two servers. Close it after use.
type Server struct {
	*httptest.Server

	mu      sync.Mutex
	posts   []Post
	refusal *Refusal
}

// The secrets of the only webhook of each server.
const (
	mattermostHook  = "xxhookxofxmattermostxxxxxx"
	rocketChatHook  = "RocketHookId00001"
	rocketChatToken = "RocketTokenThatIsSecret"
)

// NewMattermost starts a Mattermost.
func NewMattermost() *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hooks/{id}", s.mattermost)
	s.Server = httptest.NewServer(mux)
	return s
}

// NewRocketChat starts a Rocket.Chat.
func NewRocketChat() *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hooks/{id}/{token}", s.rocketChat)
	s.Server = httptest.NewServer(mux)
	return s
}

// MattermostURL returns the URL of the webhook of a Mattermost.
func (s *Server) MattermostURL() string { return s.URL + "/hooks/" + mattermostHook }

// RocketChatURL returns the URL of the webhook of a Rocket.Chat.
func (s *Server) RocketChatURL() string {
	return s.URL + "/hooks/" + rocketChatHook + "/" + rocketChatToken
}

// Posts returns the messages that were accepted.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Post(nil), s.posts...)
}

// Refuse makes the server refuse all requests; nil = none.
func (s *Server) Refuse(r *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = r
}

func (s *Server) refused() *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

// payload is what both servers read of a body.
type payload struct {
	Text        string       `json:"text"`
	Channel     string       `json:"channel"`
	Attachments []Attachment `json:"attachments"`
}

func (s *Server) mattermost(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	var body payload
	read, err := io.ReadAll(r.Body)
	refusal := s.refused()
	switch {
	case refusal != nil && refusal.Status == http.StatusTooManyRequests:
		w.Header().Set("X-RateLimit-Limit", "100")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", fmt.Sprint(refusal.RetryIn))
		http.Error(w, "limit exceeded", refusal.Status)
	case refusal != nil:
		mattermostError(w, refusal.Status, refusal.Error, id)
	case err != nil || json.Unmarshal(read, &body) != nil:
		mattermostError(w, http.StatusBadRequest, "web.incoming_webhook.parse.app_error", id)
	case body.Text == "" && body.Attachments == nil:
		mattermostError(w, http.StatusBadRequest, "web.incoming_webhook.text.app_error", id)
	case id != mattermostHook:
		mattermostError(w, http.StatusBadRequest, "web.incoming_webhook.invalid.app_error", id)
	default:
		s.accept(body, mattermostText)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "ok")
	}
}

// mattermostError answers with an error. Its message has the webhook's id, as those of Mattermost do.
func mattermostError(w http.ResponseWriter, status int, id, hook string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ //nolint:errchkjson // strings
		"id": id, "message": "Failed to handle the payload of incoming webhook " + hook + ".", "detailed_error": "",
		"request_id": "r1", "status_code": status,
	})
}

var (
	mattermostLink = regexp.MustCompile(`<([^\n<|>]+)\|([^\n>]+)>`)
	everyone       = regexp.MustCompile(`(?:^|[^\p{L}\p{N}])@(all|channel|here)\b`)
)

// mattermostText translates what Mattermost translates of Slack's format.
func mattermostText(text string) string {
	text = strings.NewReplacer("<!channel>", "@channel", "<!here>", "@here", "<!all>", "@all").Replace(text)
	return mattermostLink.ReplaceAllString(text, "[$2]($1)")
}

func (s *Server) rocketChat(w http.ResponseWriter, r *http.Request) {
	var body payload
	read, err := io.ReadAll(r.Body)
	refusal := s.refused()
	switch {
	case r.PathValue("id") != rocketChatHook || r.PathValue("token") != rocketChatToken:
		rocketChatError(w, http.StatusNotFound, "Invalid integration id or token provided.")
	case refusal != nil && refusal.Status == http.StatusTooManyRequests:
		w.Header().Set("X-RateLimit-Limit", "10")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Duration(refusal.RetryIn)*time.Second).UnixMilli()))
		rocketChatError(w, refusal.Status, fmt.Sprintf(
			"Error, too many requests. Please slow down. You must wait %d seconds before trying this endpoint again.", refusal.RetryIn))
	case refusal != nil:
		rocketChatError(w, refusal.Status, refusal.Error)
	case err != nil || json.Unmarshal(read, &body) != nil:
		rocketChatError(w, http.StatusBadRequest, "Unexpected token in JSON")
	case body.Channel != "":
		rocketChatError(w, http.StatusBadRequest, "overriding destination channel is disabled for this integration")
	default:
		s.accept(body, func(text string) string { return text })
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"success":true}`)
	}
}

func rocketChatError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error": message}) //nolint:errchkjson // strings
}

// accept keeps a message as the server shows it.
func (s *Server) accept(body payload, shown func(string) string) {
	post := Post{Text: shown(body.Text)}
	whole := []string{post.Text}
	for _, a := range body.Attachments {
		a.Text = shown(a.Text)
		post.Attachments = append(post.Attachments, a)
		whole = append(whole, a.Text)
	}
	for _, found := range everyone.FindAllStringSubmatch(strings.Join(whole, "\n"), -1) {
		post.Mentions = append(post.Mentions, found[1])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = append(s.posts, post)
}
