package events

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an expression. The language has no loops without end; these bound what one evaluation may cost.
const (
	maxExpression  = 4096    // bytes of code
	maxNodes       = 1000    // of its syntax tree
	maxMemory      = 100_000 // values made in one evaluation
	maxFailureText = 200
)

// expression is compiled code in the language of github.com/expr-lang/expr, which has no side effects and always ends.
type expression struct {
	code    string
	program *vm.Program
}

func compileExpression(code string, options ...expr.Option) (*expression, error) {
	if len(code) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes, at most %d are allowed; shorten it", len(code), maxExpression)
	}
	options = append(options, expr.MaxNodes(maxNodes), expr.DisableBuiltin("now"))
	program, err := expr.Compile(code, options...)
	if err != nil {
		fault := cut(strings.ReplaceAll(err.Error(), "\n", " "), maxFailureText)
		return nil, fmt.Errorf("%s; see https://expr-lang.org/docs/language-definition", fault)
	}
	return &expression{code: code, program: program}, nil
}

// evaluate returns an error where a value has another type than the code expects, for example a text for a number.
func (x *expression) evaluate(env any) (any, error) {
	machine := vm.VM{MemoryBudget: maxMemory}
	value, err := machine.Run(x.program, env)
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: %s", cut(x.code, maxFailureText), cut(firstLine(err.Error()), maxFailureText))
	}
	return value, nil
}

// value is the result of the code; nil where it cannot be evaluated, for example because a field is missing.
func (x *expression) value(env any) any {
	value, err := x.evaluate(env)
	if err != nil {
		return nil
	}
	return value
}

func (x *expression) truth(env any) bool {
	truth, _ := x.value(env).(bool)
	return truth
}

func (x *expression) text(env any) string { return scalarText(x.value(env)) }

// scalarText is a scalar as text; "" for any other value.
func scalarText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case longNumber:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any, map[string]any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// bodyValue is a body as expressions see it, decoded once for the expression that recognises a webhook and those that read it.
type bodyValue struct {
	decoded bool
	value   any
}

// value returns the body as expressions see it.
func (in input) value() any {
	if in.values == nil {
		return decoded(in.body)
	}
	if !in.values.decoded {
		*in.values = bodyValue{true, decoded(in.body)}
	}
	return in.values.value
}

// decoded returns a body as expressions see it: objects, arrays, strings, numbers, booleans and nil. Integers are int; those
// beyond its range are longNumber, and all other numbers float64.
func decoded(body jsontext.Value) any {
	var value any
	if json.Unmarshal(body, &value, lax, json.WithUnmarshalers(wholeNumbers)) != nil {
		return nil
	}
	return value
}

// longNumber is a number that neither int nor float64 can represent: it is a text in expressions, mostly an id.
type longNumber string

// MarshalJSONTo implements [json.MarshalerTo].
func (n longNumber) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(n))
}

// wholeNumbers decodes integers so that they keep their digits: ids may have more than a float64 can represent.
var wholeNumbers = json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	number, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(string(number)); err == nil {
		*v = n
		return nil
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if *v = f; err != nil || !bytes.ContainsAny(number, ".eE") {
		*v = longNumber(number)
	}
	return nil
})
