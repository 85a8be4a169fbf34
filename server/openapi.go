package server

import (
	_ "embed" // openapi.yaml
	"net/http"
)

// openAPI describes the endpoints of both listeners.
//
//go:embed openapi.yaml
var openAPI []byte

// serveOpenAPI answers with the description of the endpoints, which contains nothing of the configuration.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openAPI) // the client has gone
}
