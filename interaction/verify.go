package interaction

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// delivery is a click or command that Slack delivered, verified.
type delivery struct {
	app         App
	kind        kind
	clicks      []Click // more than one if several elements changed together
	command     Command
	responseURL string // where answers are posted
	arrived     time.Time
}

// Bounds of a payload.
const (
	maxActions  = 5 // that one payload may contain; a response_url takes as many answers
	maxActionID = 255
	maxValue    = 2000
	maxText     = 4000
)

var (
	identifier = regexp.MustCompile(`^[A-Z0-9]{1,32}$`)
	timestamp  = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,9}$`)
)

// clicks verifies a payload of block_actions. appID is the id of the app that received it; "" = not known.
func (r *Receiver) clicks(ctx context.Context, app App, appID string, p *slack.InteractionCallback) (delivery, error) {
	if p.Type != slack.InteractionTypeBlockActions || p.Container.Type != "message" && p.Container.Type != "message_attachment" {
		return delivery{}, errIgnored
	}
	arrived := time.Now()
	place := Place{
		Workspace: cmp.Or(p.Team.ID, p.User.TeamID), Channel: p.Container.ChannelID, Message: p.Container.MessageTs,
		User: User{ID: p.User.ID, Name: printable(p.User.Name)},
	}
	if !timestamp.MatchString(place.Message) || p.Channel.ID != "" && p.Channel.ID != place.Channel {
		return delivery{}, fmt.Errorf("%w: the message or the channel", ErrMalformed)
	}
	if p.Container.IsEphemeral {
		place.Message = ""
	}
	from := origin{workspace: p.Team.ID, enterprise: p.Enterprise.ID, orgWide: p.IsEnterpriseInstall}
	if err := r.verify(ctx, app, sameApp(app, appID, p.APIAppID), place, from); err != nil {
		return delivery{}, err
	}
	d := delivery{app: app, kind: click, responseURL: p.ResponseURL, arrived: arrived}
	if len(p.ActionCallback.BlockActions) == 0 || len(p.ActionCallback.BlockActions) > maxActions {
		return delivery{}, fmt.Errorf("%w: %d actions", ErrMalformed, len(p.ActionCallback.BlockActions))
	}
	for _, action := range p.ActionCallback.BlockActions {
		value := cmp.Or(action.Value, action.SelectedOption.Value)
		if action.ActionID == "" || len(action.ActionID) > maxActionID || len(value) > maxValue {
			return delivery{}, fmt.Errorf("%w: an action", ErrMalformed)
		}
		d.clicks = append(d.clicks, Click{Place: place, Action: action.ActionID, Value: value})
	}
	return d, nil
}

// typed verifies a command. appID is as in clicks.
func (r *Receiver) typed(ctx context.Context, app App, appID string, c *slack.SlashCommand) (delivery, error) {
	arrived := time.Now()
	place := Place{Workspace: c.TeamID, Channel: c.ChannelID, User: User{ID: c.UserID, Name: printable(c.UserName)}}
	from := origin{workspace: c.TeamID, enterprise: c.EnterpriseID, orgWide: c.IsEnterpriseInstall}
	if err := r.verify(ctx, app, sameApp(app, appID, c.APIAppID), place, from); err != nil {
		return delivery{}, err
	}
	if len(c.Text) > maxText {
		return delivery{}, fmt.Errorf("%w: a command of %d bytes", ErrMalformed, len(c.Text))
	}
	return delivery{
		app: app, kind: command, responseURL: c.ResponseURL, arrived: arrived, command: Command{Place: place, Text: printable(c.Text)},
	}, nil
}

// verify finds out whether a click or command is the app's, and whether its ids can be ids.
func (r *Receiver) verify(ctx context.Context, app App, same bool, place Place, from origin) error {
	if !same {
		return ErrForeign
	}
	for _, id := range []string{place.Workspace, place.Channel, place.User.ID} {
		if !identifier.MatchString(id) {
			return fmt.Errorf("%w: an id", ErrMalformed)
		}
	}
	return r.workspaces.check(ctx, app, from)
}

// sameApp reports whether a payload is of the app that received it, by the id that Slack said when the socket was opened, or that
// the app-level token contains. If neither is known, the signing secret alone proves it.
func sameApp(app App, received, claimed string) bool {
	known := cmp.Or(received, app.id())
	return claimed != "" && (known == "" || known == claimed)
}

// printable returns a text without control characters.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\ufffd"))
}
