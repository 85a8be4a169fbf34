package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"slackrelay/pipeline"
)

// viewer is a reader of the stream: what it shows, and what was sent to it.
type viewer struct {
	selection pipeline.Selection
	selected  string // a channel that is shown besides the page; "" = none
	may       permissions

	reading *pipeline.Reading // of which page is
	page    pipeline.Page
	sent    map[string]string // the last encoded state of each channel that is shown
	head    string            // the last message, without channels
}

// newViewer returns the viewer that sent a request.
func (s *Server) newViewer(r *http.Request) (*viewer, error) {
	selection, err := selectionOf(r.URL.Query())
	return &viewer{
		selection: selection, selected: r.URL.Query().Get("selected"), sent: map[string]string{},
		may: permissions{Read: s.mayRead(r), Change: s.isAdmin(r), Token: s.admin.set},
	}, err
}

// update is one message of the stream.
type update struct {
	snapshot

	May      permissions       `json:"may"`
	Names    []string          `json:"names"`          // the channels of the page, in their order
	Next     string            `json:"next,omitempty"` // as of listChannels
	Matching int               `json:"matching"`       // channels that are selected, on all pages
	Channels []json.RawMessage `json:"channels"`       // those that changed since the last message, and are shown
}

// shownChannel is a channel as the stream sends it.
type shownChannel struct {
	pipeline.ChannelStatus

	Condition pipeline.Condition `json:"condition"`
}

// message returns what must be sent to the viewer; "" = nothing changed.
func (v *viewer) message(now snapshot) (string, error) {
	var changed []json.RawMessage
	var err error
	if now.reading != nil && now.reading != v.reading {
		if changed, err = v.changed(now.reading); err != nil {
			return "", err
		}
	}
	u := update{snapshot: now, May: v.may, Names: []string{}, Channels: []json.RawMessage{}, Next: v.page.Next}
	u.Matching = v.page.Matching
	for i := range v.page.Channels {
		u.Names = append(u.Names, v.page.Channels[i].Channel)
	}
	head, err := json.Marshal(u)
	if err != nil || len(changed) == 0 && string(head) == v.head {
		return "", err
	}
	v.head = string(head)
	message := head
	if len(changed) > 0 {
		u.Channels = changed
		message, err = json.Marshal(u)
	}
	return fmt.Sprintf("data: %s\n\n", message), err
}

// changed selects the page from a reading, and returns the channels that are shown and changed.
func (v *viewer) changed(reading *pipeline.Reading) ([]json.RawMessage, error) {
	page, err := reading.Select(v.selection)
	if err != nil { // the channel before the page is gone
		v.selection.After = ""
		page, _ = reading.Select(v.selection)
	}
	v.reading = reading
	v.page = page
	shown := page.Channels
	if selected, ok := reading.Channel(v.selected); ok {
		shown = append(slices.Clip(shown), selected)
	}
	changed := []json.RawMessage{}
	sent := make(map[string]string, len(shown))
	for i := range shown {
		encoded, err := json.Marshal(shownChannel{shown[i], shown[i].Condition()})
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", shown[i].Channel, err)
		}
		if _, twice := sent[shown[i].Channel]; !twice && v.sent[shown[i].Channel] != string(encoded) {
			changed = append(changed, encoded)
		}
		sent[shown[i].Channel] = string(encoded)
	}
	v.sent = sent
	return changed, nil
}
