package interaction

// App is an app of Slack whose clicks and commands the relay receives. Neither token nor secret may be shown.
type App struct {
	// Name says in logs and reasons which app it is, for example "slack_token" or "channel alerts".
	Name string
	// AppToken is the app-level token, xapp-…, with which sockets are opened; "" = none are.
	AppToken string
	// SigningSecret proves that a request comes from Slack; "" = none is accepted by HTTP.
	SigningSecret string
	// BotTokens are those of the app's installations: they decide which workspaces may click.
	BotTokens []string
	// APIURL is the base URL of the Web API; "" = Slack's own.
	APIURL string
}

// Receives reports whether clicks and commands can arrive at all.
func (a App) Receives() bool {
	return a.BotTokens[0] != "" && (a.AppToken != "" || a.SigningSecret != "")
}

// Same reports whether both are the same app, with another installation at most.
func (a App) Same(b App) bool {
	return a.AppToken == b.AppToken && a.SigningSecret == b.SigningSecret && a.APIURL == b.APIURL
}

// Contradicts reports whether both have the same app-level token, and other signing secrets.
func (a App) Contradicts(b App) bool {
	return a.AppToken != "" && a.AppToken == b.AppToken && a.SigningSecret != b.SigningSecret
}
