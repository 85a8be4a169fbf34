package server

import (
	"net/http"
	"time"
)

// ConfigState says which configuration is in effect.
type ConfigState struct {
	File     string    `json:"file"` // "" = none is read
	Hash     string    `json:"hash"` // of all settings but secrets; replicas with the same configuration have the same
	LoadedAt time.Time `json:"loaded_at"`
	// Reload is why the file that is there now is not in effect; nil = it is.
	Reload *FailedReload `json:"failed_reload"`
	// RestartNeeded are settings that changed and take effect with a restart only.
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
