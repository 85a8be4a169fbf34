package server

import (
	"maps"
	"net/http"

	"slackrelay/interaction"
)

// Public returns the handler of the public listener.
func (s *Server) Public() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/hooks/{channel}", s.endpoint(s.ingest, s.writeError))
	mux.Handle("/hooks/{channel}/{source}", s.endpoint(s.ingest, s.writeError))
	mux.Handle("/heartbeats/{name}", s.endpoint(s.heartbeat, s.writeError))
	mux.Handle("/heartbeats/{name}/{token}", s.endpoint(s.heartbeat, s.writeError))
	mux.Handle("/slack/interactions", s.endpoint(s.slackInteractions(interaction.Interactions), s.writeError))
	mux.Handle("/slack/commands", s.endpoint(s.slackInteractions(interaction.Commands), s.writeError))
	mux.Handle("/services/{channel}/{token...}", s.endpoint(s.slackWebhook, s.writeSlackWebhookError))
	mux.Handle("/api/{method}", s.endpoint(s.slackAPI, s.writeSlackAPIError))
	for pattern, d := range alertmanagerDoors(maps.Clone(doors)) {
		mux.Handle(pattern, s.door(d))
	}
	mux.Handle("/", s.handle(func(http.ResponseWriter, *http.Request) error {
		return errorf(notFound, "there is nothing here; post webhooks to /hooks/{channel}")
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.logPanic(r)
		if s.draining.Load() { // so that the sender's next webhook goes to another replica
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	})
}

// Ops returns the handler of the ops listener.
func (s *Server) Ops() http.Handler {
	page := dashboardFiles()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics())
	mux.HandleFunc("GET /api/openapi.yaml", serveOpenAPI)
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /assets/{file}", page)
	for pattern, handler := range map[string]handlerFunc{
		loginRoute:                                          s.login,
		"POST /logout":                                      s.logout,
		"GET /api/v1/stream":                                s.stream,
		"GET /api/v1/config":                                s.config,
		"GET /api/v1/refusals":                              s.listRefusals,
		"GET /api/v1/heartbeats":                            s.listHeartbeats,
		"GET /api/v1/silences":                              s.listSilences,
		"POST /api/v1/silences":                             s.addSilence,
		"DELETE /api/v1/silences/{id}":                      s.expireSilence,
		"GET /api/v1/channels":                              s.listChannels,
		"GET /api/v1/channels/{channel}":                    s.channel,
		"GET /api/v1/channels/{channel}/preview":            s.preview,
		"GET /api/v1/channels/{channel}/series":             s.series,
		"GET /api/v1/channels/{channel}/events":             s.record,
		"POST /api/v1/channels/{channel}/pause":             s.pause,
		"POST /api/v1/channels/{channel}/resume":            s.resume,
		"POST /api/v1/channels/{channel}/limits/reset":      s.resetLimit,
		"GET /api/v1/channels/{channel}/held":               s.listHeld,
		"GET /api/v1/channels/{channel}/deliveries/{id}":    s.delivery,
		"GET /api/v1/channels/{channel}/dead":               s.listDead,
		"DELETE /api/v1/channels/{channel}/dead/{id}":       s.deleteDead,
		"POST /api/v1/channels/{channel}/dead/{id}/replay":  s.replayDead,
		"GET /api/v1/channels/{channel}/drops":              s.listDrops,
		"GET /api/v1/channels/{channel}/drops/{id}":         s.drop,
		"POST /api/v1/channels/{channel}/drops/{id}/replay": s.replayDrop,
	} {
		mux.Handle(pattern, s.handle(handler))
	}
	sameOrigin := http.NewCrossOriginProtection() // no page of another site changes anything with a browser's cookie
	sameOrigin.SetDenyHandler(s.handle(func(http.ResponseWriter, *http.Request) error {
		return errorf(forbidden, "a page of another site must not change anything here")
	}))
	next := s.requireOwnHost(sameOrigin.Handler(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.logPanic(r)
		next.ServeHTTP(w, r)
	})
}
