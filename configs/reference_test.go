package configs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

// setting is one or more fields of an option struct that share a comment.
type setting struct {
	names     []string // in the file
	variables []string // of the environment
	doc       string
}

// The reference of the configuration is made of the option structs and their comments.
func TestTheReferenceIsFresh(t *testing.T) {
	const file = "../docs/configuration.md"
	want := reference(t)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "%s is stale: go test ./configs -run Reference -update", file)
}

func reference(t *testing.T) string {
	t.Helper()
	structs := structsOf(t)
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Made from the option structs of configs/; see TestTheReferenceIsFresh. -->

Defaults < file (` + "`--config`, `RELAY_CONFIG`" + `) < environment < flags. [configs/relay.yaml](../configs/relay.yaml) shows every setting
at its default; ` + "`relay check`" + ` prints what is in effect and names every fault. Defaults stand in brackets. Every secret can be read
from the file that the setting with ` + "`_file`" + ` names. Durations have a unit: ` + "`30m`, `5s`" + `.

Without a file and without ` + "`RELAY_CHANNELS`" + ` there is one channel, ` + "`default`" + `. A configuration file must list ` + "`channels`" + `, unless you set ` + "`RELAY_CHANNELS`" + `. An empty
or truncated file is an error at start, and changes nothing in a running relay ([operating.md](operating.md#start-and-stop)).

`)
	for _, part := range []struct{ title, name, prefix, intro string }{
		{"The relay", "Config", "RELAY_", "Set in the file at the top, or by a variable."},
		{"A channel", "Channel", "RELAY_CHANNEL_<NAME>_", "An entry of `channels` in the file; variables have the channel's name in capitals, `-` as `_`."},
		{"A level", "Level", "", "An entry of a channel's `levels`; [strategies.md](strategies.md) compares the strategies."},
		{"A window", "Window", "", "An entry of a level's `windows`."},
		{"First notices", "FirstNotice", "", "A channel's `first_notice`."},
		{"A reserve", "Reserve", "", "An entry of a channel's `reserves`."},
		{"Headroom", "Headroom", "", "An entry of a channel's `headroom`."},
		{"A credential", "Credential", "", "An entry of a channel's `auth`; [sources.md](sources.md) says which sender needs which."},
		{"An answer", "OnDrop", "", "An entry of a channel's `on_drop`."},
		{"A rule", "Rule", "", "An entry of a channel's `rules`; [rules.md](rules.md) explains them."},
		{"What a rule changes", "Changes", "", "A rule's `set`."},
		{"A test of rules", "RuleTest", "", "An entry of a channel's `rule_tests`."},
		{"What a test wants", "Want", "", "A test's `want`."},
		{"A schedule", "Schedule", "", "An entry of `schedules`."},
		{"A source of your own", "Source", "", "An entry of `sources`; each field is an expression, see [sources.md](sources.md)."},
		{"A mention", "Mention", "", "An entry of a channel's `mentions`."},
		{"A doubt", "Unknown", "", "An entry of a channel's `unknown`."},
	} {
		node, ok := structs[part.name]
		require.True(t, ok, part.name)
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", part.title, part.intro)
		if part.prefix != "" {
			b.WriteString("| setting | variable | meaning |\n|---|---|---|\n")
		} else {
			b.WriteString("| setting | meaning |\n|---|---|\n")
		}
		for _, s := range settingsOf(node, part.prefix) {
			if part.prefix != "" {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", code(s.names), code(s.variables), s.doc)
			} else {
				fmt.Fprintf(&b, "| %s | %s |\n", code(s.names), s.doc)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func code(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		quoted = append(quoted, "`"+name+"`")
	}
	return strings.Join(quoted, "<br>")
}

// structsOf are the structs of the package, by name.
func structsOf(t *testing.T) map[string]*ast.StructType {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	structs := map[string]*ast.StructType{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if body, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = body
				}
			}
			return true
		})
	}
	return structs
}

// settingsOf are the settings of a struct. A field without a comment shares that of the one before.
func settingsOf(node *ast.StructType, prefix string) []setting {
	var all []setting
	inFile := map[string]string{}
	for _, field := range node.Fields.List {
		name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("yaml"), ",")
		inFile[field.Names[0].Name] = name
	}
	for _, field := range node.Fields.List {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		name, _, _ := strings.Cut(tag.Get("yaml"), ",")
		doc := oneLine(field.Doc.Text(), field.Names[0].Name, inFile)
		if doc == "" && !strings.HasPrefix(field.Comment.Text(), "nolint") {
			doc = oneLine(field.Comment.Text(), "", inFile)
		}
		if doc == "" && len(all) > 0 {
			last := &all[len(all)-1]
			last.names = append(last.names, name)
			if tag.Get("ignored") == "" {
				last.variables = append(last.variables, prefix+strings.ToUpper(name))
			}
			continue
		}
		one := setting{names: []string{name}, doc: doc}
		if tag.Get("ignored") == "" {
			one.variables = []string{prefix + strings.ToUpper(name)}
		}
		all = append(all, one)
	}
	return all
}

// oneLine makes a cell of a comment: fields in the words of the file.
func oneLine(comment, field string, inFile map[string]string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(text, field+verb); ok && field != "" {
			text = rest
			break
		}
	}
	text = goWord.ReplaceAllStringFunc(text, func(word string) string {
		if name, ok := inFile[word]; ok {
			return "`" + name + "`"
		}
		return word
	})
	return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", `\|`)
}

var goWord = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// The reference names every setting that there is.
func TestTheReferenceIsWhole(t *testing.T) {
	t.Parallel()
	text := reference(t)
	for _, of := range []reflect.Type{reflect.TypeFor[configs.Config](), reflect.TypeFor[configs.Channel](), reflect.TypeFor[configs.Credential](), reflect.TypeFor[configs.Rule]()} {
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			require.Contains(t, text, "`"+name+"`")
		}
	}
}
