package configs

import (
	"cmp"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

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
	var restart []string
	for _, s := range settingsOf(reflect.TypeFor[Config]()) {
		if s.needsRestart() {
			restart = append(restart, s.name)
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

{{/* The settings at the top level of a configuration file that a running relay cannot change. */}}
{{- define "relay.restartSettings" -}}
`+strings.Join(restart, " ")+`
{{- end -}}

{{/* Durations: the name in values.yaml, the shortest and the longest, - where there is none, and whether 0s is one too. */}}
{{- define "relay.channelDurations" -}}
`+strings.Join(durations(reflect.TypeFor[Channel](), inChart, valueName), "\n")+`
{{- end -}}
{{- define "relay.durations" -}}
`+strings.Join(durations(reflect.TypeFor[Config](), func(setting) bool { return true }, func(name string) string { return name }), "\n")+`
{{- end -}}
`))
}

// durations describes the durations of an option struct, one to a line.
func durations(of reflect.Type, listed func(setting) bool, name func(string) string) []string {
	var lines []string
	for _, s := range settingsOf(of) {
		if s.field.Type != reflect.TypeFor[time.Duration]() || !listed(s) {
			continue
		}
		zero := map[bool]string{true: "zero", false: "-"}[s.tag("unset") != ""]
		lines = append(lines, strings.Join([]string{name(s.name), cmp.Or(s.tag("min"), "-"), cmp.Or(s.tag("max"), "-"), zero}, " "))
	}
	return lines
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
