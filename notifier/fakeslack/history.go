package fakeslack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// update handles chat.update.
func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		writeError(w, "invalid_form_data")
		return
	}
	request := Post{Channel: r.Form.Get("channel"), Text: r.Form.Get("text"), Form: r.Form}
	if s.scripted(w, r, &request, "chat.update") {
		return
	}
	code, detail := s.refusal(request, tokenOf(r))
	if code == "" && len([]rune(request.Text)) > 4000 {
		code = "msg_too_long"
	}
	if code != "" {
		writeError(w, code, detail...)
		return
	}
	ts := r.Form.Get("ts")
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.posts, func(p Post) bool { return p.Channel == request.Channel && p.TS == ts && ts != "" })
	if i < 0 {
		writeError(w, "message_not_found")
		return
	}
	s.posts[i].Edits = append(s.posts[i].Edits, r.Form)
	writeJSON(w, map[string]any{"ok": true, "channel": request.Channel, "ts": ts, "text": request.Text})
}

// history handles conversations.history, newest message first, and conversations.replies, oldest first.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		writeError(w, "invalid_form_data")
		return
	}
	request := Post{Channel: r.Form.Get("channel")}
	if s.scripted(w, r, &request, "conversations.history") {
		return
	}
	if s.NoHistory {
		writeError(w, "missing_scope")
		return
	}
	limit, err := strconv.Atoi(r.Form.Get("limit"))
	if err != nil || limit < 1 {
		limit = 100
	}
	from, _ := strconv.Atoi(r.Form.Get("cursor"))
	found := s.postsAfter(request.Channel, r.Form.Get("ts"), r.Form.Get("oldest"))
	page := found[min(from, len(found)):min(from+limit, len(found))]
	messages, next := make([]map[string]any, len(page)), ""
	for i, post := range page {
		messages[i] = map[string]any{"type": "message", "text": post.Text, "ts": post.TS}
		if metadata := post.Form.Get("metadata"); metadata != "" && isTrue(r.Form.Get("include_all_metadata")) {
			messages[i]["metadata"] = json.RawMessage(metadata)
		}
	}
	if from+limit < len(found) {
		next = strconv.Itoa(from + limit)
	}
	writeJSON(w, map[string]any{
		"ok": true, "messages": messages, "has_more": next != "", "response_metadata": map[string]string{"next_cursor": next},
	})
}

func isTrue(value string) bool { return value == "1" || value == "true" }

// postsAfter returns the messages of a channel, or of a thread, that are newer than oldest.
func (s *Server) postsAfter(channel, thread, oldest string) []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Post
	for _, post := range s.posts {
		if post.Channel == channel && post.Thread == thread && post.TS > oldest {
			found = append(found, post)
		}
	}
	if thread == "" {
		slices.Reverse(found)
	}
	return found
}
