package events

import (
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"
)

// mappingLanguage is what expressions of a mapping have beside the language itself: a field of a missing object is missing
// too; either(a, b, ...) is the first of its values that is not empty; joined(": ", a, b, ...) is a text of those that are
// not, without repeats; named("check", id) is "check 7", or empty without an id.
var mappingLanguage = []expr.Option{
	expr.AllowUndefinedVariables(),
	expr.Patch(optionalFields{}),
	expr.Function("fetch", fetch),
	expr.DisableBuiltin("string"), // of a missing value it is "<nil>"
	expr.Function("string", func(values ...any) (any, error) { return scalarText(values[0]), nil }, new(func(value any) string)),
	expr.Function("either", func(values ...any) (any, error) {
		for _, v := range values {
			if text := scalarText(v); text != "" {
				return text, nil
			}
		}
		return "", nil
	}),
	expr.Function("joined", func(values ...any) (any, error) {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = scalarText(v)
		}
		if len(texts) == 0 {
			return "", nil
		}
		return joined(texts[0], texts[1:]...), nil
	}),
	expr.Function("named", func(values ...any) (any, error) {
		if len(values) != 2 {
			return "", nil
		}
		return named(scalarText(values[0]), scalarText(values[1])), nil
	}, new(func(name, value any) string)),
}

// optionalFields makes a.b and a[0] mean fetch(a, "b") and fetch(a, 0): a sender may leave any object out, or send another
// value in its place.
type optionalFields struct{}

// Visit implements [ast.Visitor].
func (optionalFields) Visit(node *ast.Node) {
	if m, ok := (*node).(*ast.MemberNode); ok {
		ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: "fetch"}, Arguments: []ast.Node{m.Node, m.Property}})
	}
}

// fetch returns the field of an object or the item of a list, its arguments; nil if there is none.
func fetch(arguments ...any) (value any, err error) {
	defer func() {
		if recover() != nil { // the first is neither, or has no such item
			value = nil
		}
	}()
	return runtime.Fetch(arguments[0], arguments[1]), nil
}
