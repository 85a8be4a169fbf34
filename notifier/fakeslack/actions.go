package fakeslack

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Slack's limits of what can be clicked on (https://docs.slack.dev/reference/block-kit/block-elements).
const (
	maxActionElements = 25
	maxActionID       = 255
	maxButtonText     = 75
	maxButtonValue    = 2000
	maxOptionValue    = 150
	maxOptions        = 100
	maxMenuText       = 150
)

// action is an element of an actions block: a button or a menu.
type action struct {
	Type        string `json:"type"`
	ID          string `json:"action_id"`
	Value       string `json:"value"`
	Text        text   `json:"text"`
	Placeholder text   `json:"placeholder"`

	Options []option `json:"options"`
	Groups  []struct {
		Label   text     `json:"label"`
		Options []option `json:"options"`
	} `json:"option_groups"`
}

type option struct {
	Text  text   `json:"text"`
	Value string `json:"value"`
}

// checkActions checks an actions block. What can be clicked on is no text of the message.
func (b block) checkActions() (size int, fault string) {
	var all []action
	if err := json.Unmarshal(b.Elements, &all); err != nil {
		return 0, err.Error()
	}
	if len(all) == 0 || len(all) > maxActionElements {
		return 0, fmt.Sprintf("an actions block with %d elements", len(all))
	}
	ids := map[string]bool{}
	for _, a := range all {
		if ids[a.ID] {
			return 0, fmt.Sprintf("action_id %q is used twice", a.ID)
		}
		ids[a.ID] = true
		if fault := a.check(); fault != "" {
			return 0, a.Type + " " + a.ID + ": " + fault
		}
	}
	return 0, ""
}

func (a action) check() (fault string) {
	if a.ID == "" || len(a.ID) > maxActionID {
		return "an action_id has 1 to 255 characters"
	}
	switch a.Type {
	case "button":
		if !within(a.Text.Text, maxButtonText) || len(a.Value) > maxButtonValue || a.Text.Type != "plain_text" {
			return "a plain text of at most 75 characters, and a value of at most 2000"
		}
		return ""
	case "static_select", "overflow":
		return a.checkOptions()
	default:
		return "unknown"
	}
}

func (a action) checkOptions() (fault string) {
	if a.Type == "static_select" && !within(a.Placeholder.Text, maxMenuText) {
		return "a placeholder of at most 150 characters"
	}
	lists := [][]option{a.Options}
	for _, g := range a.Groups {
		if !within(g.Label.Text, maxButtonText) || len(g.Options) == 0 {
			return "a group with a label and options"
		}
		lists = append(lists, g.Options)
	}
	if len(a.Options) == 0 && len(a.Groups) == 0 {
		return "options"
	}
	for _, list := range lists {
		for _, o := range list {
			if len(list) > maxOptions || !within(o.Text.Text, maxButtonText) || !within(o.Value, maxOptionValue) {
				return "at most 100 options, with a text of at most 75 and a value of at most 150 characters"
			}
		}
	}
	return ""
}

// within reports whether a text has 1 to limit characters.
func within(text string, limit int) bool {
	n := utf8.RuneCountInString(text)
	return n > 0 && n <= limit
}
