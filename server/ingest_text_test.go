package server_test

import (
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/server"
)

func TestTextIsAnEventWithItsFirstLineAsTitle(t *testing.T) {
	t.Parallel()
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for name, c := range map[string]struct {
		path, body string
		header     http.Header
		want       events.Event
	}{
		"text": {
			"/hooks/open", "disk full\non db-1",
			http.Header{"Content-Type": {"text/plain"}},
			events.Event{Title: "disk full", Text: "on db-1"},
		},
		"curl -d":            {"/hooks/open", "disk full: 97%", form, events.Event{Title: "disk full: 97%"}},
		"curl -d, one = two": {"/hooks/open", "used = 97 %", form, events.Event{Title: "used = 97 %"}},
		"a mark before":      {"/hooks/open", "[ERROR] disk full", nil, events.Event{Title: "[ERROR] disk full", Severity: events.Error}},
		"ntfy's headers": {
			"/hooks/open", "97 %",
			http.Header{"X-Title": {"Disk full"}, "Priority": {"5"}, "Tags": {"cd"}},
			events.Event{Title: "Disk full", Text: "97 %", Severity: events.Critical, Labels: map[string]string{"tags": "cd"}},
		},
		"ntfy's parameters": {
			"/hooks/open?title=Disk+full&priority=2", "97 %", nil, events.Event{Title: "Disk full", Text: "97 %", Severity: events.Info},
		},
		"XML": {
			"/hooks/open", `<alert id="7"><title>Disk full</title></alert>`,
			http.Header{"Content-Type": {"application/xml"}},
			events.Event{Title: "Disk full"},
		},
		"a form": {
			"/hooks/open", "subject=Disk+full&state=down", form,
			events.Event{Title: "Disk full down", Severity: events.Error},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intake := &stubIntake{}
			s := server.New(server.Options{
				Channels: []server.Channel{{Name: "open"}}, Intake: intake, Logger: slog.New(slog.DiscardHandler),
			})
			r := post(c.path, c.body)
			r.Header.Del("Content-Type")
			maps.Copy(r.Header, c.header)
			status, _, answer := serve(s.Public(), r)
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
			require.Len(t, intake.events, 1)
			got := intake.events[0]
			require.Equal(t, []string{c.want.Title, c.want.Text, c.want.Labels["tags"]}, []string{got.Title, got.Text, got.Labels["tags"]})
			require.Equal(t, cmp.Or(c.want.Severity, events.Warning), got.Severity)
		})
	}
}

func TestCategoryOfLastResortIsTheCredentialOrTheAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ credential, agent, want string }{
		"the credential":     {"Billing Jobs", "Backup/1.2", "billing-jobs"},
		"the agent":          {"", "Backup/1.2 (linux)", "backup"},
		"an HTTP library":    {"", "Go-http-client/1.1", "uncategorized"},
		"the ingress token":  {"default", "curl/8.9", "uncategorized"},
		"nothing":            {"", "", "uncategorized"},
		"the agent of token": {"default", "Backup", "backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intake := &stubIntake{}
			channel := server.Channel{Name: "open"}
			if c.credential == "default" {
				channel.IngressToken = "k"
			} else if c.credential != "" {
				channel.Credentials = []server.Credential{{Name: c.credential, Kind: "bearer", Secret: "k"}}
			}
			s := server.New(server.Options{Channels: []server.Channel{channel}, Intake: intake, Logger: slog.New(slog.DiscardHandler)})
			r := post("/hooks/open", `{"title":"x"}`)
			r.Header.Set("Authorization", "Bearer k")
			r.Header.Set("User-Agent", c.agent)
			status, _, answer := serve(s.Public(), r)
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
			require.Equal(t, c.want, intake.events[0].Category)
		})
	}
}
