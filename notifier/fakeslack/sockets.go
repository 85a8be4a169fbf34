package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Slack's limits of Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode).
const (
	maxSockets         = 10
	acknowledgeWithin  = 3 * time.Second
	maxAcknowledgement = 20 << 10
	deliveries         = 3 // of an envelope that is not acknowledged
	pingEvery          = 5 * time.Second
)

// AppID is the id of the fake Slack's app.
const AppID = "A0001"

// Why a click or command is shown to the user as failed.
var (
	// ErrNoSocket means that no socket of the app is open.
	ErrNoSocket = errors.New("no socket is open")
	// ErrNotAcknowledged means that each delivery went without an acknowledgement for 3 seconds.
	ErrNotAcknowledged = errors.New("not acknowledged within 3 seconds")
)

// socket is an open WebSocket.
type socket struct {
	conn  *websocket.Conn
	ended chan struct{}

	mu sync.Mutex // of writes
}

func (c *socket) write(v any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.WriteJSON(v); err != nil {
		return fmt.Errorf("write to the socket: %w", err)
	}
	return nil
}

// openConnection handles apps.connections.open.
func (s *Server) openConnection(w http.ResponseWriter, r *http.Request) {
	var post Post
	if s.scripted(w, r, &post, "apps.connections.open") {
		return
	}
	token := tokenOf(r)
	switch {
	case strings.HasPrefix(token, "xoxb-"):
		writeError(w, "not_allowed_token_type")
		return
	case !strings.HasPrefix(token, "xapp-"), s.AppToken != "" && token != s.AppToken:
		writeError(w, "invalid_auth")
		return
	}
	ticket := fmt.Sprint(rand.Uint64()) //nolint:gosec // of a test
	in := &s.interactivity
	in.mu.Lock()
	in.tickets[ticket] = true
	in.mu.Unlock()
	writeJSON(w, map[string]any{"ok": true, "url": "ws" + strings.TrimPrefix(s.base, "http") + "/link/" + ticket})
}

// socket serves a WebSocket until it ends.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	in := &s.interactivity
	in.mu.Lock()
	valid := in.tickets[r.PathValue("ticket")]
	delete(in.tickets, r.PathValue("ticket")) // each is for one connection
	in.mu.Unlock()
	if !valid {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c := &socket{conn: conn, ended: make(chan struct{})}
	defer conn.Close()
	defer close(c.ended)
	open := in.add(c)
	if open == 0 {
		_ = c.write(map[string]any{"type": "disconnect", "reason": "too_many_websockets"})
		return
	}
	defer in.remove(c)
	hello := map[string]any{
		"type": "hello", "num_connections": open, "connection_info": map[string]string{"app_id": AppID},
		"debug_info": map[string]any{"host": "applink-1", "build_number": 1, "approximate_connection_time": 18060},
	}
	if c.write(hello) != nil {
		return
	}
	go c.ping()
	for {
		var ack acknowledgement
		if _, message, err := conn.ReadMessage(); err != nil {
			return
		} else if len(message) >= maxAcknowledgement || json.Unmarshal(message, &ack) != nil {
			continue // Slack drops it without an error
		}
		in.acknowledged(ack)
	}
}

func (c *socket) ping() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for c.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second)) == nil {
		select {
		case <-c.ended:
			return
		case <-ticker.C:
		}
	}
}

// Sockets returns how many sockets are open.
func (s *Server) Sockets() int {
	s.interactivity.mu.Lock()
	defer s.interactivity.mu.Unlock()
	return len(s.interactivity.sockets)
}

// KillSocket cuts a random socket as a broken network does, and reports whether one was open.
func (s *Server) KillSocket() bool {
	c := s.interactivity.random(nil)
	if c == nil {
		return false
	}
	c.conn.Close()
	<-c.ended
	s.interactivity.remove(c)
	return true
}

// RefreshSocket asks a random client to connect again, for a reason like "refresh_requested", and ends its socket.
func (s *Server) RefreshSocket(reason string) {
	if c := s.interactivity.random(nil); c != nil {
		_ = c.write(map[string]any{"type": "disconnect", "reason": reason})
	}
}

// acknowledgement is what a client sends for an envelope.
type acknowledgement struct {
	EnvelopeID string          `json:"envelope_id"`
	Payload    json.RawMessage `json:"payload"`
}

// deliver sends an envelope to random sockets, one after another, until one acknowledges it.
func (s *Server) deliver(envelope string, payload any) (answer json.RawMessage, err error) {
	in := &s.interactivity
	id, acked := in.expect()
	defer in.forget(id)
	var last *socket
	for attempt := range deliveries {
		c := in.random(last)
		if c == nil {
			return nil, ErrNoSocket
		}
		last = c
		timer := time.NewTimer(acknowledgeWithin)
		_ = c.write(map[string]any{
			"type": envelope, "envelope_id": id, "payload": payload, "accepts_response_payload": envelope == "slash_commands",
			"retry_attempt": attempt,
		})
		select {
		case answer := <-acked:
			timer.Stop()
			return answer, nil
		case <-c.ended:
			timer.Stop()
		case <-timer.C:
		}
	}
	return nil, ErrNotAcknowledged
}

// random returns an open socket, another one than last if there is one; nil = none is open.
func (i *interactivity) random(last *socket) *socket {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(i.sockets), func(c *socket) bool { return c == last })
	if len(all) == 0 {
		all = i.sockets
	}
	if len(all) == 0 {
		return nil
	}
	return all[rand.IntN(len(all))] //nolint:gosec // of a test
}

// add adds a socket, and returns how many are open; 0 = there are too many.
func (i *interactivity) add(c *socket) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.sockets) >= maxSockets {
		return 0
	}
	i.sockets = append(i.sockets, c)
	return len(i.sockets)
}

func (i *interactivity) remove(c *socket) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sockets = slices.DeleteFunc(i.sockets, func(other *socket) bool { return other == c })
}

// expect returns a new id of an envelope, and where its acknowledgement arrives.
func (i *interactivity) expect() (id string, acked chan json.RawMessage) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	id, acked = fmt.Sprintf("envelope-%d", i.last), make(chan json.RawMessage, 1)
	i.pending[id] = acked
	return id, acked
}

func (i *interactivity) forget(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.pending, id)
}

func (i *interactivity) acknowledged(ack acknowledgement) {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case i.pending[ack.EnvelopeID] <- ack.Payload:
	default: // it is unknown, or was acknowledged before
	}
}
