package server

import (
	"net/http"
	"time"
)

// ConfigState is the configuration that is in effect. It is the reply of GET /api/v1/config.
type ConfigState struct {
	File     string    `json:"file"` // "" = no file
	Hash     string    `json:"hash"` // of all settings but secrets; equal on replicas with the same configuration
	LoadedAt time.Time `json:"loaded_at"`
	// Reload is why the current contents of the file are not in effect; nil = they are.
	Reload *FailedReload `json:"failed_reload"`
	// RestartNeeded lists changed settings that take effect only after a restart.
	RestartNeeded []string `json:"restart_needed"`
}

// FailedReload is a configuration that could not be used.
type FailedReload struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

func (s *Server) config(w http.ResponseWriter, r *http.Request) error {
	s.writeJSON(w, r, http.StatusOK, s.opts.Config())
	return nil
}
