// Package fakeslack is a Slack for tests: chat.postMessage, chat.update, auth.test, conversations.history, .replies, .info,
// .list and .join, incoming webhooks, and clicks and commands by Socket Mode or by signed requests, over real HTTP, with the
// answers, limits and faults of the real Slack.
//
// Without a script it accepts every message that Slack would accept. A script makes the next requests to a channel fail: 429
// with or without Retry-After, errors in 200 bodies, 5xx, delays, connections that are cut before or after the message is
// posted, messages that appear late.
package fakeslack

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Post is a message that was posted to a channel.
type Post struct {
	Channel string // the channel of the request, or its part of the webhook's path
	Text    string
	TS      string // empty for webhooks
	Thread  string // the ts of the message that it replies to
	At      time.Time
	Edits   []url.Values    // the arguments of each chat.update
	Form    url.Values      // the arguments of chat.postMessage
	Body    json.RawMessage // the body of a webhook
}

// Server is a fake Slack. Set its fields before the first request.
type Server struct {
	// Token is the only bot token that is valid; "" = every token.
	Token string
	// NoHistory makes requests for history fail, as for an app without the scope.
	NoHistory bool
	// AppToken is the only app-level token that opens sockets; "" = every one that begins with xapp-.
	AppToken string
	// NoData refuses charts and tables, as workspaces do that do not have them yet.
	NoData bool
	// Scopes are the scopes of the token; nil = all, and auth.test does not list them.
	Scopes []string
	// OrgWide makes the token one of a whole organisation: it knows no channels by their names, and lists none without a workspace.
	OrgWide bool
	// Conversations are the channels of the workspace; nil = every channel exists, and the bot is a member.
	Conversations []Conversation

	server   *http.Server
	base     string
	mu       sync.Mutex
	posts    []Post
	requests int
	scripts  map[string][]Reply
	fault    Fault
	lastTS   int64
	late     sync.WaitGroup

	interactivity interactivity
}

// Start starts a fake Slack on a free port of the loopback interface.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test server that Close ends
	if err != nil {
		return nil, fmt.Errorf("start the fake Slack: %w", err)
	}
	s := &Server{base: "http://" + listener.Addr().String(), scripts: map[string][]Reply{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/chat.postMessage", s.postMessage)
	mux.HandleFunc("POST /api/chat.update", s.update)
	mux.HandleFunc("POST /api/conversations.history", s.history)
	mux.HandleFunc("POST /api/conversations.replies", s.history)
	mux.HandleFunc("POST /api/auth.test", s.authTest)
	mux.HandleFunc("POST /api/conversations.info", s.conversationsInfo)
	mux.HandleFunc("POST /api/conversations.list", s.conversationsList)
	mux.HandleFunc("POST /api/conversations.join", s.conversationsJoin)
	s.interactivity.init()
	mux.HandleFunc("POST /api/apps.connections.open", s.openConnection)
	mux.HandleFunc("GET /link/{ticket}", s.socket)
	mux.HandleFunc("POST /actions/{id}", s.respond)
	mux.HandleFunc("/api/{method}", func(w http.ResponseWriter, r *http.Request) {
		if !s.scripted(w, r, &Post{}, r.PathValue("method")) {
			writeError(w, "unknown_method")
		}
	})
	mux.HandleFunc("POST /services/{team}/{hook}/{secret}", s.webhook)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(listener) //nolint:errcheck // ends with ErrServerClosed
	return s, nil
}

// Close stops the server and cuts every connection.
func (s *Server) Close() error {
	s.late.Wait()
	for s.KillSocket() {
		continue // until there is none
	}
	return s.server.Close()
}

// APIURL returns the base URL of the Web API, with a slash at its end. Requests see the fields that were set before.
func (s *Server) APIURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base + "/api/"
}

// WebhookURL returns the URL of an incoming webhook that posts to a channel.
func (s *Server) WebhookURL(channel, secret string) string {
	return s.base + "/services/T0001/" + channel + "/" + secret
}

// Posts returns the posted messages, in order.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Post(nil), s.posts...)
}

// Requests returns how many requests to post a message have come, whatever their answers.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *Server) postMessage(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		writeError(w, "invalid_form_data")
		return
	}
	post := Post{Channel: r.Form.Get("channel"), Text: r.Form.Get("text"), Thread: r.Form.Get("thread_ts"), Form: r.Form}
	if s.scripted(w, r, &post, "chat.postMessage") {
		return
	}
	if code, detail := s.refusal(post, tokenOf(r)); code != "" {
		writeError(w, code, detail...)
		return
	}
	s.post(&post, true)
	writeJSON(w, map[string]any{"ok": true, "channel": post.Channel, "ts": post.TS, "message": map[string]any{"text": post.Text}})
}

func tokenOf(r *http.Request) string {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	return r.Form.Get("token")
}

func (s *Server) refusal(post Post, token string) (code string, detail []string) {
	switch {
	case token == "":
		return "not_authed", nil
	case s.Token != "" && token != s.Token:
		return "invalid_auth", nil
	case post.Channel == "":
		return "channel_not_found", nil
	case s.Conversations != nil:
		if code := s.refusedBy(post.Channel); code != "" {
			return code, nil
		}
		return s.checkContent(post)
	default:
		return s.checkContent(post)
	}
}

func (s *Server) checkContent(post Post) (code string, detail []string) {
	attachments, blocks := post.Form.Get("attachments"), post.Form.Get("blocks")
	if post.Text == "" && attachments == "" && blocks == "" {
		return "no_text", nil
	}
	if code, detail := s.checkData([]byte(blocks)); code != "" {
		return code, detail
	}
	return checkAttachments([]byte(attachments))
}

func (s *Server) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	post := Post{Channel: r.PathValue("hook"), Body: body}
	var message struct {
		Text        string          `json:"text"`
		Attachments json.RawMessage `json:"attachments"`
		Blocks      json.RawMessage `json:"blocks"`
	}
	bad := err != nil || json.Unmarshal(body, &message) != nil
	post.Text = message.Text
	switch {
	case s.scripted(w, r, &post, "webhook"):
	case bad:
		writeText(w, http.StatusBadRequest, "invalid_payload")
	case message.Text == "" && message.Attachments == nil && message.Blocks == nil:
		writeText(w, http.StatusBadRequest, "no_text")
	default:
		code, _ := checkAttachments(message.Attachments)
		if code == "" {
			code, _ = s.checkData(message.Blocks)
		}
		if code != "" {
			writeText(w, http.StatusBadRequest, code)
			return
		}
		s.post(&post, false)
		writeText(w, http.StatusOK, "ok")
	}
}

// post adds a message to its channel.
func (s *Server) post(post *Post, withTS bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	post.At = time.Now()
	if withTS {
		s.lastTS = max(s.lastTS+1, post.At.UnixMicro())
		post.TS = fmt.Sprintf("%d.%06d", s.lastTS/1e6, s.lastTS%1e6)
	}
	s.posts = append(s.posts, *post)
}

func writeText(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func writeError(w http.ResponseWriter, code string, messages ...string) {
	answer := map[string]any{"ok": false, "error": code}
	if len(messages) > 0 {
		answer["response_metadata"] = map[string]any{"messages": messages}
	}
	writeJSON(w, answer)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // maps of strings
}
