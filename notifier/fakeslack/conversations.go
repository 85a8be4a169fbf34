package fakeslack

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Conversation is a channel of the workspace; see [Server].Conversations.
type Conversation struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	IsMember   bool   `json:"is_member"`
	IsPrivate  bool   `json:"is_private"`
	IsArchived bool   `json:"is_archived"`
	IsReadOnly bool   `json:"is_read_only"`
	// Withheld is whether it is in a workspace that the organisation has not given the app access to.
	Withheld bool `json:"-"`
}

func (s *Server) authTest(w http.ResponseWriter, r *http.Request) {
	var post Post
	_ = r.ParseForm()
	if s.scripted(w, r, &post, "auth.test") {
		return
	}
	switch token := tokenOf(r); {
	case token == "":
		writeError(w, "not_authed")
		return
	case s.Token != "" && token != s.Token:
		writeError(w, "invalid_auth")
		return
	}
	if s.Scopes != nil {
		w.Header().Set("X-OAuth-Scopes", strings.Join(s.Scopes, ","))
	}
	answer := map[string]any{"ok": true, "team": "Fake", "team_id": "T0001", "user": "relay", "user_id": "U0001", "bot_id": "B0001"}
	if s.OrgWide {
		answer["team_id"], answer["enterprise_id"], answer["is_enterprise_install"] = "E0001", "E0001", true
	}
	writeJSON(w, answer)
}

// lacks answers a request whose token lacks a scope.
func (s *Server) lacks(w http.ResponseWriter, scope string) bool {
	if s.Scopes == nil || slices.Contains(s.Scopes, scope) {
		return false
	}
	writeJSON(w, map[string]any{"ok": false, "error": "missing_scope", "needed": scope, "provided": strings.Join(s.Scopes, ",")})
	return true
}

// scopeOf returns the scope of a family, such as "read", that a channel needs.
func scopeOf(c Conversation, family string) string {
	if c.IsPrivate {
		return "groups:" + family
	}
	return "channels:" + family
}

// conversation returns the channel with an id. A private one is hidden from who is not a member.
func (s *Server) conversation(id string) (Conversation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Conversations == nil {
		return Conversation{ID: id, Name: strings.ToLower(id), IsMember: true}, true
	}
	n := slices.IndexFunc(s.Conversations, func(c Conversation) bool { return c.ID == id })
	if n < 0 || s.Conversations[n].IsPrivate && !s.Conversations[n].IsMember {
		return Conversation{}, false
	}
	return s.Conversations[n], true
}

func (s *Server) conversationsInfo(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	post := Post{Channel: r.Form.Get("channel")}
	if s.scripted(w, r, &post, "conversations.info") {
		return
	}
	found, ok := s.conversation(post.Channel)
	switch {
	case !ok:
		writeError(w, "channel_not_found")
	case found.Withheld:
		writeError(w, "team_access_not_granted")
	case s.lacks(w, scopeOf(found, "read")):
	default:
		writeJSON(w, map[string]any{"ok": true, "channel": found})
	}
}

// conversationsList lists the channels in pages: the cursor is the place of the next.
func (s *Server) conversationsList(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	var post Post
	if s.scripted(w, r, &post, "conversations.list") {
		return
	}
	if s.OrgWide && r.Form.Get("team_id") == "" {
		writeError(w, "missing_argument")
		return
	}
	types := strings.Split(r.Form.Get("types"), ",")
	s.mu.Lock()
	defer s.mu.Unlock()
	var visible []Conversation
	for _, c := range s.Conversations {
		kind := "public_channel"
		if c.IsPrivate {
			kind = "private_channel"
		}
		if slices.Contains(types, kind) && (c.IsMember || !c.IsPrivate) {
			visible = append(visible, c)
		}
	}
	for _, family := range types {
		if s.lacks(w, map[string]string{"public_channel": "channels:read", "private_channel": "groups:read"}[family]) {
			return
		}
	}
	limit, _ := strconv.Atoi(r.Form.Get("limit"))
	from, _ := strconv.Atoi(r.Form.Get("cursor"))
	from = min(max(from, 0), len(visible))
	to, next := len(visible), ""
	if limit > 0 && from+limit < to {
		to = from + limit
		next = strconv.Itoa(to)
	}
	writeJSON(w, map[string]any{
		"ok": true, "channels": visible[from:to], "response_metadata": map[string]string{"next_cursor": next},
	})
}

// conversationsJoin lets the bot join a public channel.
func (s *Server) conversationsJoin(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	post := Post{Channel: r.Form.Get("channel")}
	if s.scripted(w, r, &post, "conversations.join") || s.lacks(w, "channels:join") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.Conversations, func(c Conversation) bool { return c.ID == post.Channel && !c.IsPrivate })
	switch {
	case n < 0:
		writeError(w, "channel_not_found")
	case s.Conversations[n].IsArchived:
		writeError(w, "is_archived")
	default:
		s.Conversations[n].IsMember = true
		writeJSON(w, map[string]any{"ok": true, "channel": s.Conversations[n]})
	}
}

// refusedBy returns why the bot may not post to a channel, by its id or name; "" = it may.
func (s *Server) refusedBy(channel string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.Conversations, func(c Conversation) bool { return c.ID == channel || c.Name == strings.TrimPrefix(channel, "#") })
	switch {
	case s.OrgWide && (n < 0 || s.Conversations[n].ID != channel):
		return "team_not_found"
	case n >= 0 && s.Conversations[n].Withheld:
		return "team_access_not_granted"
	case n < 0 || s.Conversations[n].IsPrivate && !s.Conversations[n].IsMember:
		return "channel_not_found"
	case s.Conversations[n].IsArchived:
		return "is_archived"
	case !s.Conversations[n].IsMember && !slices.Contains(s.Scopes, "chat:write.public"):
		return "not_in_channel"
	default:
		return ""
	}
}
