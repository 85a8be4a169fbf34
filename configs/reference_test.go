package configs

import (
	"cmp"
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
	"time"

	"slackrelay/test/golden"

	"github.com/stretchr/testify/require"
)

func TestGoldenReference(t *testing.T) {
	docs := commentsOf(t)
	intro, err := os.ReadFile("testdata/configuration.md")
	require.NoError(t, err)
	var b strings.Builder
	b.Write(intro)
	for _, p := range parts {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", p.title, p.intro)
		p.write(t, &b, docs)
	}
	golden.File(t, "../docs/configuration.md", []byte(b.String()))
}

func (p part) write(t *testing.T, b *strings.Builder, docs map[string]string) {
	t.Helper()
	begun := false
	for _, s := range settingsOf(p.of) {
		if isSecretFile(p.of, s) {
			continue // the introduction explains it
		}
		if section := s.tag("section"); section != "" {
			fmt.Fprintf(b, "\n### %s\n", section)
		}
		if section := s.tag("section"); section != "" || !begun {
			b.WriteString("\n" + p.header())
			begun = true
		}
		doc := docs[p.of.Name()+"."+s.field.Name]
		require.NotEmpty(t, doc, "%s.%s has no comment", p.of.Name(), s.field.Name)
		b.WriteString(p.row(s, doc))
	}
}

func isSecretFile(t reflect.Type, s setting) bool {
	name, ok := strings.CutSuffix(s.field.Name, "File")
	secret, found := t.FieldByName(name)
	return ok && found && secret.Type == reflect.TypeFor[Secret]()
}

func (p part) header() string {
	if p.prefix == prefix {
		return "| Setting, variable | Type | Default | Values | Restart | Meaning |\n|---|---|---|---|---|---|\n"
	}
	if p.prefix != "" {
		return "| Setting, variable | Type | Default | Values | Meaning |\n|---|---|---|---|---|\n"
	}
	return "| Setting | Type | Default | Values | Meaning |\n|---|---|---|---|---|\n"
}

func (p part) row(s setting, doc string) string {
	name := code(s.name)
	if p.prefix != "" && s.hasVariable() {
		name += "<br>" + code(p.prefix+strings.ToUpper(s.name))
	}
	cells := []string{name, typeText(s.field.Type), defaultText(s), valuesText(s)}
	if p.prefix == prefix {
		cells = append(cells, restartText(s))
	}
	return "| " + strings.Join(append(cells, meaning(s, doc)), " | ") + " |\n"
}

func code(text string) string { return "`" + text + "`" }

func typeText(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[*time.Duration]():
		return "duration"
	case reflect.TypeFor[Secret]():
		return "secret"
	case reflect.TypeFor[[]string]():
		return "list of texts"
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Pointer:
		return "boolean"
	case reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Struct:
		return "object"
	default:
		return "text"
	}
}

func defaultText(s setting) string {
	value, _ := s.initial()
	switch {
	case s.name == "channels":
		return "one"
	case value.Kind() == reflect.Slice:
		return "none"
	case value.Kind() == reflect.Struct, value.Kind() == reflect.Pointer:
		return ""
	case isRequired(s, value):
		return "required"
	case value.Kind() == reflect.String && value.IsZero():
		return "empty"
	}
	return code(show(value.Interface()))
}

// isRequired reports whether a setting has no valid default.
func isRequired(s setting, initial reflect.Value) bool {
	v := newValidator()
	v.check(s, initial)
	return len(*v.faults) > 0 && s.tag("when") == ""
}

var formatTexts = map[string]string{
	"address":   "`host:port`",
	"url":       "`http://` or `https://` URL",
	"networks":  "IP addresses and ranges",
	"channel":   "1 to 63 of `a-z`, `0-9` and `-`, and one placeholder in a template",
	"name":      "1 to 63 of `a-z`, `0-9` and `-`",
	"heartbeat": "1 to 63 letters, digits and `._-`",
	"level":     "up to 63 letters, digits and `_.-`",
	"strategy":  oneOf(strings.Split("`"+strings.Join(strategies(), "`,`")+"`", ",")),
	"category":  "up to 100 of `a-z`, `0-9` and `._-`",
}

func valuesText(s setting) string {
	var all []string
	if values := s.tag("oneof"); values != "" {
		all = append(all, oneOf(strings.Split(code(strings.ReplaceAll(values, ",", "`,`")), ",")))
	}
	if low, high := s.tag("min"), s.tag("max"); low+high != "" {
		all = append(all, strings.Replace(cmp.Or(low, "up")+" to "+cmp.Or(high, "any"), " to any", " or more", 1))
	}
	if format := s.tag("format"); format != "" {
		all = append(all, formatTexts[format])
	}
	if unset := s.tag("unset"); unset != "" {
		zero := "empty"
		if k := s.field.Type.Kind(); k == reflect.Int64 || k == reflect.Float64 {
			zero = code(show(reflect.Zero(s.field.Type).Interface()))
		}
		all = append(all, zero+": "+quoteNames(unset))
	}
	return strings.Join(all, "; ")
}

func restartText(s setting) string {
	switch restart := s.tag("restart"); restart {
	case "":
		return "no"
	case "true":
		return "yes"
	default:
		return restart
	}
}

// meaning is the comment of a field without its name: "Listen is the address" becomes "The address".
func meaning(s setting, doc string) string {
	text := strings.TrimPrefix(doc, s.field.Name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	for value := range strings.SplitSeq(s.tag("oneof"), ",") {
		text = regexp.MustCompile(`([.;] )`+regexp.QuoteMeta(value)+`: `).ReplaceAllString(text, "$1`"+value+"`: ")
	}
	return strings.ReplaceAll(quoteNames(text), "|", `\|`)
}

var underscored = regexp.MustCompile(`\b[a-zA-Z]+(_[a-zA-Z]+)+\b`)

// quoteNames quotes the names of settings and variables that are not quoted yet.
func quoteNames(text string) string {
	pieces := strings.Split(text, "`")
	for i := 0; i < len(pieces); i += 2 {
		pieces[i] = underscored.ReplaceAllString(pieces[i], "`$0`")
	}
	return strings.Join(pieces, "`")
}

// commentsOf reads the comments of all fields of the option structs, by Struct.Field, each as one line.
func commentsOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files = append(files, "../events/rules.go", "../events/mapping.go")
	comments := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					for _, name := range field.Names {
						if name := spec.Name.Name + "." + name.Name; comments[name] != "" {
							continue // a struct of configs
						}
						comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments
}
