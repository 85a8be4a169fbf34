package server

import (
	"embed"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"slackrelay/notifier"
)

// The dashboard is embedded: it needs no build and loads nothing from elsewhere. lit-html renders it, uPlot its chart.
//
//go:embed dashboard
var dashboard embed.FS

// dashboardPolicy allows the page to load from this server alone.
const dashboardPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// dashboardFiles serves the page and its assets.
func dashboardFiles() http.Handler {
	files, err := fs.Sub(dashboard, "dashboard")
	if err != nil {
		panic(err) // it is embedded
	}
	served := http.StripPrefix("/assets/", http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", dashboardPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache") // after an update, a relay serves another page
		if r.URL.Path == "/" {
			http.ServeFileFS(w, r, files, "index.html")
			return
		}
		served.ServeHTTP(w, r)
	})
}

// previewed is a message of a channel that is not connected to Slack.
type previewed struct {
	Headline string `json:"headline"`
	Text     string `json:"text"`
	Kind     string `json:"kind"` // selects its color: critical, warning or good
}

// preview lists the last messages of a channel that is not connected to Slack, newest first.
func (s *Server) preview(w http.ResponseWriter, r *http.Request) error {
	channel := r.PathValue("channel")
	if !s.hasChannel(channel) {
		return errUnknownChannel(channel)
	}
	messages, shown := s.opts.Previews(channel)
	texts := s.mayRead(r)
	if !texts {
		messages = nil
	}
	all := make([]previewed, 0, len(messages))
	for _, message := range slices.Backward(messages) {
		headline, text, _ := strings.Cut(notifier.Plain(message), "\n")
		all = append(all, previewed{Headline: headline, Text: text, Kind: message.Kind()})
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"messages": all, "shown": shown, "texts": texts})
	return nil
}
