package fakeslack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Team is the workspace of the fake Slack.
const Team = "T0001"

// clicked is what can be clicked on: a message, or an answer that only one user sees.
type clicked struct {
	channel, ts, text   string
	blocks, attachments json.RawMessage
	ephemeral           bool
}

// element is a button in the blocks of a message, and where it is.
type element struct {
	fields     map[string]any
	block      string
	attachment int // from 1; 0 = it is in none
}

// Select chooses an option of a menu, by its value, as a user. It returns as Click does.
func (s *Server) Select(user, ts, actionID, value string) error {
	payload, err := s.ClickPayload(user, ts, actionID)
	if err != nil {
		return err
	}
	on, _ := s.find(user, ts)
	menu, _ := on.button(actionID)
	option := menu.option(value)
	if option == nil {
		return fmt.Errorf("menu %q has no option %q", actionID, value)
	}
	action, _ := payload["actions"].([]any)[0].(map[string]any)
	action["selected_option"] = option
	delete(action, "text")
	_, err = s.send("interactive", payload)
	return err
}

// ClickPayload returns what Slack delivers of a click. The button must be in the message as it was posted or edited last.
func (s *Server) ClickPayload(user, ts, actionID string) (map[string]any, error) {
	on, ok := s.find(user, ts)
	if !ok {
		return nil, fmt.Errorf("no message %s that %s can see", ts, user)
	}
	button, ok := on.button(actionID)
	if !ok {
		return nil, fmt.Errorf("message %s has no element %q", ts, actionID)
	}
	container := map[string]any{
		"type": "message", "message_ts": on.ts, "channel_id": on.channel, "is_ephemeral": on.ephemeral,
	}
	if button.attachment > 0 {
		container["type"], container["attachment_id"], container["is_app_unfurl"] = "message_attachment", button.attachment, false
	}
	action := map[string]any{"block_id": button.block, "action_ts": fmt.Sprintf("%.6f", float64(time.Now().UnixMicro())/1e6)}
	for _, name := range []string{"action_id", "type", "text", "value", "style", "url", "confirm"} {
		if value, ok := button.fields[name]; ok {
			action[name] = value
		}
	}
	payload := map[string]any{
		"type": "block_actions", "api_app_id": AppID, "token": "legacy", "container": container,
		"user":       map[string]string{"id": user, "username": strings.ToLower(user), "name": strings.ToLower(user), "team_id": Team},
		"trigger_id": fmt.Sprint(rand.Uint64()), //nolint:gosec // of a test
		"team":       map[string]string{"id": Team, "domain": "fake"}, "enterprise": nil, "is_enterprise_install": false,
		"channel": map[string]string{"id": on.channel, "name": strings.ToLower(on.channel)}, "state": map[string]any{"values": map[string]any{}},
		"response_url": s.replyURL(replyURL{user: user, channel: on.channel, message: ts, ephemeral: on.ephemeral}),
		"actions":      []any{action},
	}
	if !on.ephemeral { // Slack leaves an ephemeral message out
		payload["message"] = on.message()
	}
	return payload, nil
}

// find returns a message or answer that a user can see.
func (s *Server) find(user, ts string) (clicked, bool) {
	for _, a := range s.Answers(user) {
		if a.TS == ts {
			return clicked{channel: a.Channel, ts: ts, text: a.Text, blocks: a.Blocks, ephemeral: true}, true
		}
	}
	all := s.Posts()
	i := slices.IndexFunc(all, func(p Post) bool { return p.TS == ts && ts != "" })
	if i < 0 {
		return clicked{}, false
	}
	form := all[i].Form
	if edits := all[i].Edits; len(edits) > 0 {
		form = edits[len(edits)-1]
	}
	return clicked{
		channel: s.idOf(all[i].Channel), ts: ts, text: form.Get("text"),
		blocks: json.RawMessage(form.Get("blocks")), attachments: json.RawMessage(form.Get("attachments")),
	}, true
}

// idOf returns the id of a channel that a message was posted to by name.
func (s *Server) idOf(channel string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Conversations {
		if c.Name == strings.TrimPrefix(channel, "#") {
			return c.ID
		}
	}
	return channel
}

// message returns the message as a payload has it.
func (c clicked) message() map[string]any {
	m := map[string]any{
		"type": "message", "user": "U0001", "bot_id": "B0001", "app_id": AppID, "team": Team, "ts": c.ts, "text": c.text,
	}
	if len(c.blocks) > 0 {
		m["blocks"] = c.blocks
	}
	if len(c.attachments) > 0 {
		m["attachments"] = c.attachments
	}
	return m
}

// button finds a button by its action_id.
func (c clicked) button(actionID string) (element, bool) {
	var attachments []struct {
		Blocks json.RawMessage `json:"blocks"`
	}
	_ = json.Unmarshal(c.attachments, &attachments) // what is no list has no buttons
	all := []json.RawMessage{c.blocks}
	for _, a := range attachments {
		all = append(all, a.Blocks)
	}
	for i, blocks := range all {
		if found, ok := buttonIn(blocks, actionID); ok {
			found.attachment = i
			return found, true
		}
	}
	return element{}, false
}

func buttonIn(raw json.RawMessage, actionID string) (element, bool) {
	var blocks []struct {
		ID        string           `json:"block_id"`
		Elements  []map[string]any `json:"elements"`
		Accessory map[string]any   `json:"accessory"`
	}
	_ = json.Unmarshal(raw, &blocks)
	for i, b := range blocks {
		for _, e := range append(b.Elements, b.Accessory) {
			if e["action_id"] == actionID {
				return element{fields: e, block: cmp.Or(b.ID, fmt.Sprintf("b%d", i))}, true
			}
		}
	}
	return element{}, false
}

// option returns the option of a menu with a value; nil = there is none.
func (e element) option(value string) map[string]any {
	lists := []any{e.fields["options"]}
	groups, _ := e.fields["option_groups"].([]any)
	for _, g := range groups {
		if group, ok := g.(map[string]any); ok {
			lists = append(lists, group["options"])
		}
	}
	for _, list := range lists {
		options, _ := list.([]any)
		for _, o := range options {
			if option, ok := o.(map[string]any); ok && option["value"] == value {
				return option
			}
		}
	}
	return nil
}
