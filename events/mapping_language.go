package events

import (
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// mappingLanguage is what expressions of a mapping have beside the language itself: a field of a missing object is missing
// too; either(a, b, ...) is the first of its values that is not empty; joined(": ", a, b, ...) is a text of those that are
// not, without repeats; named("check", id) is "check 7", or empty without an id.
var mappingLanguage = []expr.Option{
	expr.AllowUndefinedVariables(),
	expr.Patch(optionalFields{}),
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

// optionalFields makes a.b.c mean a?.b?.c: a sender may leave any object out.
type optionalFields struct{}

// Visit implements [ast.Visitor].
func (optionalFields) Visit(node *ast.Node) {
	if member, ok := (*node).(*ast.MemberNode); ok && !member.Optional {
		member.Optional = true
		ast.Patch(node, &ast.ChainNode{Node: member})
	}
}
