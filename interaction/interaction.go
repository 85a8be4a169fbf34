// Package interaction receives what people do to the relay's messages in Slack: clicks on buttons, and commands.
package interaction

import (
	"context"

	"github.com/slack-go/slack"
)

// Place is where somebody clicked or typed, as Slack reports it. Only the workspace is proven, by the app that received it: the
// rest is compared with what the store knows.
type Place struct {
	Workspace string // id of the workspace, T…
	Channel   string // id of the channel, C…
	Message   string // timestamp of the message that was clicked; "" = a command, or an answer that only the user sees
	User      User
}

// User is who clicked or typed.
type User struct {
	ID   string // U… or W…
	Name string
}

// Click is a click on a button.
type Click struct {
	Place
	Action string // the button's action_id
	Value  string // the button's value
}

// Command is a slash command.
type Command struct {
	Place
	Text string // what follows the command's name
}

// Answer is what the user who clicked or typed sees, and nobody else. The zero value is no answer.
type Answer struct {
	Text    string
	Blocks  []slack.Block
	Replace bool // replaces the answer that was clicked
}

// Handler acts on clicks and commands. Slack may repeat each of them, and any replica may get it.
type Handler interface {
	Click(ctx context.Context, click Click) Answer
	Command(ctx context.Context, command Command) Answer
}
