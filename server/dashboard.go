package server

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// The dashboard is embedded: it needs no build, and asks for nothing from elsewhere. lit-html draws it, uPlot its chart.
//
//go:embed dashboard
var dashboard embed.FS

// dashboardPolicy lets the page load and ask nothing but this server.
const dashboardPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// pages serves the page itself, and what it is made of.
func pages() http.Handler {
	files, err := fs.Sub(dashboard, "dashboard")
	if err != nil {
		panic(err) // it is embedded
	}
	served := http.StripPrefix("/assets/", http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", dashboardPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache") // a relay that was updated serves another page
		if r.URL.Path == "/" {
			http.ServeFileFS(w, r, files, "index.html")
			return
		}
		served.ServeHTTP(w, r)
	})
}

// seen is what the stream tells each second.
type seen struct {
	Ready    readiness                `json:"ready"`
	Shared   shared                   `json:"shared"`
	Channels []pipeline.ChannelStatus `json:"channels"`
	Config   string                   `json:"config"`  // its hash
	Refused  int64                    `json:"refused"` // requests, by this process
	May      permission               `json:"may"`
}

// shared is how the state that replicas share stands.
type shared struct {
	Redis    string `json:"redis"`         // "up", "away", or "none" where all is in memory
	Why      string `json:"why,omitempty"` // it is away
	Replicas int64  `json:"replicas"`
}

func (s *Server) shared(ctx context.Context) shared {
	health := s.opts.Status.Health()
	state := shared{Redis: "up", Replicas: health.Replicas}
	if !s.opts.Status.Durable() {
		state.Redis = "none"
		return state
	}
	if err := s.opts.Status.Ping(ctx); err != nil {
		state.Redis, state.Why = "away", store.Describe(err)
	} else if len(health.Away) > 0 {
		state.Redis, state.Why = "away", health.Away[0].Why
	}
	return state
}

// permission says what who looks may do.
type permission struct {
	Read   bool `json:"read"`   // texts of events
	Change bool `json:"change"` // replay, pause, silence
	Token  bool `json:"token"`  // there is a token to sign in with
}

// streamEvery is how often the stream tells.
const streamEvery = time.Second

// streamTimeout bounds how long a reader may take for one message.
const streamTimeout = 10 * time.Second

// stream tells how all channels stand, by server-sent events, until the reader goes, or this server.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	may := permission{Read: s.mayRead(r), Change: s.isAdmin(r), Token: s.admin.set}
	ticker := time.NewTicker(streamEvery)
	defer ticker.Stop()
	for {
		control.SetWriteDeadline(time.Now().Add(streamTimeout)) //nolint:errcheck // tests write to memory
		now := s.snapshots.get(r.Context(), s.look)
		now.May = may
		encoded, err := json.Marshal(now)
		if err != nil {
			s.opts.Logger.ErrorContext(r.Context(), "stream could not be encoded", "error", err)
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", encoded); err != nil || control.Flush() != nil {
			return // the reader went
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.retired:
			return
		case <-ticker.C:
		}
	}
}

// snapshots is what was seen last: any number of readers cost no more than one.
type snapshots struct {
	mu   sync.Mutex
	at   time.Time
	last seen
}

func (n *snapshots) get(ctx context.Context, look func(ctx context.Context, before seen) seen) seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.at) >= streamEvery*9/10 {
		n.last, n.at = look(context.WithoutCancel(ctx), n.last), time.Now()
	}
	return n.last
}

// look reads how all stands. While that cannot be read, what was seen before is told, and that it is old.
func (s *Server) look(ctx context.Context, before seen) seen {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	now := seen{Refused: s.guard.count(), Config: s.opts.Config().Hash, Channels: before.Channels, Shared: s.shared(ctx)}
	channels := sync.OnceValues(func() ([]pipeline.ChannelStatus, error) { return s.opts.Status.All(ctx) })
	now.Ready, _ = s.readiness(ctx, channels)
	all, err := channels()
	if err != nil {
		now.Ready.Reasons = append(now.Ready.Reasons, "what is shown is old: the channels cannot be read")
	} else {
		now.Channels = all
	}
	if now.Channels == nil {
		now.Channels = []pipeline.ChannelStatus{}
	}
	return now
}

// Retire ends the streams: another server takes this one's place. Readers connect again by themselves.
func (s *Server) Retire() { s.retire() }

// previewed is a message that was shown instead of sent.
type previewed struct {
	Headline string `json:"headline"`
	Text     string `json:"text"`
	Kind     string `json:"kind"` // of its colour: critical, warning or good
}

// preview lists what a channel without Slack shows, newest first.
func (s *Server) preview(w http.ResponseWriter, r *http.Request) error {
	if _, known := s.doors[r.PathValue("channel")]; !known {
		return errorf(unknownChannel, "no channel is called %q", r.PathValue("channel"))
	}
	messages, shown := s.opts.Previews(r.PathValue("channel"))
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
