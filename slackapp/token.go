package slackapp

import "strings"

// TokenFault says what is wrong with a bot token by its form alone, and what to do about it; "" = nothing.
func TokenFault(token string) (message, remedy string) {
	const copyIt = "copy the Bot User OAuth Token of the app's page OAuth & Permissions; it begins with xoxb-"
	if message, remedy = copyFault(token, "a token", copyIt); message != "" {
		return message, remedy
	}
	switch {
	case strings.HasPrefix(token, "xapp-"):
		return "is an app-level token, which cannot post messages", copyIt
	case strings.HasPrefix(token, "xoxp-"):
		return "is the token of a user, so that messages would be that person's", copyIt
	case strings.HasPrefix(token, "xoxe"):
		return "is a refresh or configuration token, which cannot post messages", copyIt
	case strings.HasPrefix(token, "xoxs-"), strings.HasPrefix(token, "xoxc-"):
		return "is the token of a browser session, which Slack may end at any time", copyIt
	case !strings.HasPrefix(token, "xoxb-"):
		return "is not a bot token", copyIt
	default:
		return "", ""
	}
}
