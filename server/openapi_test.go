package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slackrelay/pipeline"
	"slackrelay/silence"
)

// description is the part of an OpenAPI description that the tests compare.
type description struct {
	Paths      map[string]map[string]any
	Components struct {
		Schemas map[string]struct {
			Properties map[string]struct{ Type string }
		}
	}
}

func describedAPI(t *testing.T) (d description) {
	t.Helper()
	status, answer := setup(t).get("/api/openapi.yaml")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, yaml.Unmarshal([]byte(answer), &d))
	return d
}

func TestOpenAPIHasEachRoute(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("routes.go")
	require.NoError(t, err)
	routes := []string{"POST /login"} // a constant there
	for _, found := range regexp.MustCompile(`"((?:GET|POST|DELETE) )?(/[^"]+)"[,:]`).FindAllStringSubmatch(string(source), -1) {
		method, path := found[1], strings.Replace(found[2], "{token...}", "{token}", 1)
		if path == "/{$}" || path == "/assets/{file}" { // the page, and what it is made of
			continue
		}
		if method == "" {
			method = "POST "
		}
		routes = append(routes, method+path)
	}
	var described []string
	for path, item := range describedAPI(t).Paths {
		for method := range item {
			if slices.Contains([]string{"get", "post", "delete"}, method) {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	require.ElementsMatch(t, routes, described)
}

func TestOpenAPIHasEachFieldOfReplies(t *testing.T) {
	t.Parallel()
	schemas := describedAPI(t).Components.Schemas
	for name, of := range map[string]reflect.Type{
		"Receipt": reflect.TypeFor[pipeline.Receipt](), "EventReceipt": reflect.TypeFor[pipeline.EventReceipt](),
		"Channel": reflect.TypeFor[pipeline.ChannelStatus](), "Drop": reflect.TypeFor[pipeline.DropRecord](),
		"DeadLetter": reflect.TypeFor[pipeline.DeadLetter](), "Silence": reflect.TypeFor[silence.Silence](),
		"Delivery": reflect.TypeFor[pipeline.DeliveryState](),
	} {
		var fields, described []string
		for field := range of.Fields() {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "-" && field.IsExported() {
				fields = append(fields, tag)
			}
		}
		for field := range schemas[name].Properties {
			described = append(described, field)
		}
		require.ElementsMatch(t, fields, described, name)
	}
}

func TestRepliesHaveTheTypesThatOpenAPISays(t *testing.T) {
	t.Parallel()
	b, schemas := setup(t), describedAPI(t).Components.Schemas
	b.fourEvents(t)
	_, _, receipt := serve(b.Public(), post("/hooks/open", `{"title":"5"}`))
	_, _, fault := serve(b.Public(), post("/hooks/nowhere", `{"title":"5"}`))
	replies := map[string]string{"Receipt": string(receipt), "Error": string(fault)}
	for name, path := range map[string]string{
		"Health": "/healthz", "Readiness": "/readyz", "Channels": "/api/v1/channels", "Channel": "/api/v1/channels/open",
	} {
		_, replies[name] = b.get(path)
	}
	kinds := map[reflect.Kind][]string{
		reflect.String: {"string"}, reflect.Float64: {"number", "integer"}, reflect.Bool: {"boolean"},
		reflect.Slice: {"array"}, reflect.Map: {"object"},
	}
	for name, reply := range replies {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(reply), &fields), "%s: %s", name, reply)
		for field, value := range fields {
			property, ok := schemas[name].Properties[field]
			require.True(t, ok, "%s.%s is not described", name, field)
			require.Contains(t, kinds[reflect.ValueOf(value).Kind()], property.Type, "%s.%s", name, field)
		}
	}
}
