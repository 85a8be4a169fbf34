package configs

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slackrelay/test/golden"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// schema is a JSON object whose keys keep their order.
type schema []property

type property struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (s schema) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, p := range s {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		var value bytes.Buffer
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(p.value); err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(p.name) + ":" + value.String())
	}
	b.WriteString("}")
	return b.Bytes(), nil
}

// The schema of the chart's values is generated from helm/values.schema.yaml and the option structs.
func TestGoldenSchemaOfTheChart(t *testing.T) {
	text, err := os.ReadFile("../helm/values.schema.yaml")
	require.NoError(t, err)
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal(text, &document))
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(resolve(t, document.Content[0])))
	golden.File(t, "../helm/relay/values.schema.json", out.Bytes())
}

// resolve makes JSON of a node, with the schema of a setting in place of !setting.
func resolve(t *testing.T, node *yaml.Node) any {
	t.Helper()
	switch node.Tag {
	case "!setting":
		return schemaOf(settingNamed(t, node.Value), false)
	case "!settings":
		return channelSchemas()
	}
	switch node.Kind {
	case yaml.AliasNode:
		return resolve(t, node.Alias)
	case yaml.SequenceNode:
		items := []any{}
		for _, item := range node.Content {
			items = append(items, resolve(t, item))
		}
		return items
	case yaml.MappingNode:
		object := schema{}
		for i := 0; i < len(node.Content); i += 2 {
			object = append(object, property{node.Content[i].Value, resolve(t, node.Content[i+1])})
		}
		return object
	default:
		var value any
		require.NoError(t, node.Decode(&value))
		return value
	}
}

func settingNamed(t *testing.T, name string) setting {
	t.Helper()
	all := settingsOf(reflect.TypeFor[Config]())
	i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
	require.GreaterOrEqual(t, i, 0, "there is no setting %s", name)
	return all[i]
}

// channelSchemas are the settings of a channel that the chart turns into variables and secrets, and its name.
func channelSchemas() schema {
	all := schema{}
	for _, s := range settingsOf(reflect.TypeFor[Channel]()) {
		if s.name == "name" || inChart(s) {
			all = append(all, property{valueName(s.name), schemaOf(s, true)})
		}
	}
	return all
}

// inChart reports whether the chart sets a setting of a channel: by a variable, and by its value rather than by a file.
func inChart(s setting) bool { return s.hasVariable() && !isSecretFile(reflect.TypeFor[Channel](), s) }

// valueName is the name that a setting has in values.yaml: globalLimit for global_limit.
func valueName(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		if word == "url" {
			words[i+1] = "URL"
		}
	}
	return strings.Join(words, "")
}

// schemaOf is the schema of a setting. A list may be text, with commas, where the chart turns it into a variable of a
// channel.
func schemaOf(s setting, orText bool) schema {
	text := schema{{"type", "string"}}
	switch s.field.Type {
	case reflect.TypeFor[time.Duration]():
		// The templates check it, with a message that names the fault instead of a regular expression.
		return schema{{"type", []string{"string", "number"}}, {"description", "a duration with a unit, for example 30m"}}
	case reflect.TypeFor[[]string]():
		list := schema{{"type", "array"}, {"items", append(text, pattern(s)...)}}
		if orText {
			return schema{{"anyOf", []any{text, list}}}
		}
		return list
	}
	switch s.field.Type.Kind() {
	case reflect.Bool:
		return schema{{"type", "boolean"}}
	case reflect.Int64:
		return append(schema{{"type", "integer"}}, bounds(s)...)
	case reflect.Float64: // a share from 0 to 1, of which --set makes text
		number := append(schema{{"type", "number"}}, bounds(s)...)
		return schema{{"anyOf", []any{number, append(text, property{"pattern", `^(0(\.[0-9]+)?|1(\.0+)?)$`})}}}
	default:
		if values := s.tag("oneof"); values != "" {
			return append(text, property{"enum", strings.Split(values, ",")})
		}
		return append(text, pattern(s)...)
	}
}

func bounds(s setting) schema {
	var all schema
	if low := s.tag("min"); low != "" {
		all = append(all, property{"minimum", json.Number(low)})
	}
	if high := s.tag("max"); high != "" {
		all = append(all, property{"maximum", json.Number(high)})
	}
	return all
}

func pattern(s setting) schema {
	f := formats[s.tag("format")]
	if f.pattern == "" {
		return nil
	}
	text := f.pattern
	if s.tag("unset") != "" && !f.mayBeEmpty && s.field.Type.Kind() == reflect.String {
		text = "^(" + strings.Trim(text, "^$") + ")?$"
	}
	described := schema{{"pattern", text}}
	if s.name == "name" {
		described = append(described, property{"description", "1 to 63 of a-z, 0-9 and -"})
	}
	return described
}
