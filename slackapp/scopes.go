// Package slackapp is the relay as an app of a Slack workspace: which permissions it asks for, the manifest to create it from,
// and what is wrong with a token or a channel.
package slackapp

// Scope is a permission of the app's bot token.
type Scope struct {
	Name string
	// Use completes "The relay uses it to ...".
	Use string
	// Needed means that nothing is posted without it.
	Needed bool
	// Acting means that it is for buttons and commands only, which are off unless configured.
	Acting bool
}

// Slack's names of the scopes.
const (
	chatWrite       = "chat:write"
	channelsHistory = "channels:history"
	groupsHistory   = "groups:history"
	channelsRead    = "channels:read"
	groupsRead      = "groups:read"
	channelsJoin    = "channels:join"
	commands        = "commands"
	usergroupsRead  = "usergroups:read"
)

// scopes is the one table of scopes. The manifest, the diagnosis and docs/slack.md are made from it.
var scopes = []Scope{
	{Name: chatWrite, Use: "post and edit messages", Needed: true},
	{Name: channelsHistory, Use: "find out whether an uncertain message was posted to a public channel"},
	{Name: groupsHistory, Use: "do the same in private channels"},
	{Name: channelsRead, Use: "check public channels before an alert needs them, and find the ids of their names"},
	{Name: groupsRead, Use: "do the same with private channels"},
	{Name: channelsJoin, Use: "join public channels"},
	{Name: commands, Use: "offer the command /relay", Acting: true},
	{Name: usergroupsRead, Use: "know the members of user groups among the operators", Acting: true},
}

// Scopes returns all scopes that the relay uses.
func Scopes() []Scope { return append([]Scope(nil), scopes...) }
