package configs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"slackrelay/test/golden"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The chart's variables of a channel are those of the option struct.
func TestGoldenVariablesOfTheChart(t *testing.T) {
	var plain, secret []string
	for _, s := range settingsOf(reflect.TypeFor[Channel]()) {
		switch {
		case !inChart(s):
		case s.field.Type == reflect.TypeFor[Secret]():
			secret = append(secret, strings.ToUpper(s.name))
		default:
			plain = append(plain, strings.ToUpper(s.name))
		}
	}
	golden.File(t, "../helm/relay/templates/_settings.tpl", []byte(
		`{{/* Generated from the option structs of configs/ by: go test ./configs -update */}}

{{/* The settings of a channel that become variables. */}}
{{- define "relay.settings" -}}
`+strings.Join(plain, " ")+`
{{- end -}}

{{/* The settings of a channel that become keys of the Secret. */}}
{{- define "relay.secrets" -}}
`+strings.Join(secret, " ")+`
{{- end -}}
`))
}

// The chart repeats the defaults of the relay in values.yaml, so that they can be read there.
func TestValuesOfTheChartAreTheDefaults(t *testing.T) {
	t.Parallel()
	intended := map[string]any{"log_format": "json"} // for the log collectors of a cluster
	var document yaml.Node
	text, err := os.ReadFile("../helm/values.schema.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &document))
	var values map[string]any
	text, err = os.ReadFile("../helm/relay/values.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &values))
	compareValues(t, document.Content[0], values, intended)
}

func compareValues(t *testing.T, node *yaml.Node, value any, intended map[string]any) {
	t.Helper()
	if node.Tag == "!setting" {
		initial, _ := settingNamed(t, node.Value).initial()
		want := show(initial.Interface())
		if other, ok := intended[node.Value]; ok {
			want = show(other)
		}
		require.Equal(t, want, show(value), node.Value)
		return
	}
	object, ok := value.(map[string]any)
	if !ok || node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(node.Content); i += 2 {
		key, child := node.Content[i].Value, node.Content[i+1]
		if key == "properties" {
			for j := 0; j < len(child.Content); j += 2 {
				compareValues(t, child.Content[j+1], object[child.Content[j].Value], intended)
			}
		}
	}
}
