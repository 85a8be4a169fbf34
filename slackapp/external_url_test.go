package slackapp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/slackapp"
)

func TestExternalURLIsOneThatPeopleCanOpen(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]slackapp.Finding{
		"https://relay.example.com/ops": {Grade: slackapp.OK, Message: "messages link to relay.example.com"},
		"https://[2001:db8::1]:9090":    {Grade: slackapp.OK, Message: "messages link to [2001:db8::1]:9090"},
		"http://relay.example.com": {
			Grade: slackapp.Warning, Message: "is not encrypted: people sign in to the dashboard with the admin token", Remedy: "use https",
		},
		"relay.example.com":               {Grade: slackapp.Warning, Message: "is not a URL", Remedy: "use one that begins with https://"},
		"http://127.0.0.1:9090":           thisMachine,
		"https://[::1]:9090":              thisMachine,
		"https://localhost":               thisMachine,
		"https://relay-ops:9090":          within("relay-ops"),
		"http://relay.monitoring.svc":     within("relay.monitoring.svc"),
		"https://r.ops.svc.cluster.local": within("r.ops.svc.cluster.local"),
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			want.Subject = "external_url"
			require.Equal(t, []slackapp.Finding{want}, slackapp.ExternalURL(address))
		})
	}
}

const openable = "use the address that people open in a browser"

var thisMachine = slackapp.Finding{
	Grade: slackapp.Warning, Message: "names this machine, so that links in messages lead each reader to their own", Remedy: openable,
}

func within(host string) slackapp.Finding {
	return slackapp.Finding{Grade: slackapp.Warning, Message: "has a host that is known within one network only: " + host, Remedy: openable}
}
