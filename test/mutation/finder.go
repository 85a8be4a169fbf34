package main

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// finder finds the mutants of a Go file.
type finder struct {
	path    string
	source  []byte
	set     *token.FileSet
	info    *types.Info
	checked *types.Package
	sites   []site
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR // constants must stay constant
	case *ast.ImportSpec:
		return false
	case ast.Expr:
		if f.info.Types[n].Value != nil {
			f.constant(n)
			return false
		}
		f.expression(n)
	case *ast.AssignStmt:
		if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
			f.assign(n)
		}
	case *ast.IncDecStmt:
		f.step(n)
	}
	return true
}

func (f *finder) expression(n ast.Expr) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n.OpPos, "! -> (nothing)", f.begin(n, n, "("), f.end(n, " != mutOn($))"))
		}
	case *ast.CallExpr:
		f.extreme(n)
	}
}

// goSwaps are the operators, what becomes of them, and the function that does both.
var goSwaps = map[token.Token]struct {
	to       token.Token
	function string
}{
	token.LSS: {token.LEQ, "mutLt"},
	token.LEQ: {token.LSS, "mutLe"},
	token.GTR: {token.GEQ, "mutGt"},
	token.GEQ: {token.GTR, "mutGe"},
	token.ADD: {token.SUB, "mutAdd"},
	token.SUB: {token.ADD, "mutSub"},
	token.MUL: {token.QUO, "mutMul"},
	token.QUO: {token.MUL, "mutDiv"},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.EQL, token.NEQ:
		to := map[token.Token]string{token.EQL: "!=", token.NEQ: "=="}[n.Op]
		f.add(n.OpPos, n.Op.String()+" -> "+to, f.begin(n, n.X, "(("), f.end(n, ") != mutOn($))"))
	case token.LAND, token.LOR:
		function, to := "mutAnd", "||"
		if n.Op == token.LOR {
			function, to = "mutOr", "&&"
		}
		f.add(n.OpPos, n.Op.String()+" -> "+to, f.begin(n, n.X, function+"($, "), f.replace(n.OpPos, n.Op.String(), ", func() bool { return ("),
			f.end(n, ") })"))
	default:
		swap, known := goSwaps[n.Op]
		if !known || isText(f.info.TypeOf(n)) {
			return
		}
		f.add(n.OpPos, n.Op.String()+" -> "+swap.to.String(), f.begin(n, n.X, swap.function+"($, "),
			f.replace(n.OpPos, n.Op.String(), ","), f.end(n, ")"))
	}
}

func isText(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// constant is an expression with a value: a whole number becomes the next one.
func (f *finder) constant(n ast.Expr) {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.INT {
		return
	}
	value, err := strconv.ParseInt(strings.ReplaceAll(literal.Value, "_", ""), 0, 64)
	if name := f.typeName(n); err == nil && name != "" {
		f.add(n.Pos(), literal.Value+" -> "+strconv.FormatInt(value+1, 10), f.begin(n, n, "mutInc["+name+"]($, "), f.end(n, ")"))
	}
}

// typeName is the type of a number as the package writes it; "" = it is none.
func (f *finder) typeName(n ast.Expr) string {
	t := f.info.TypeOf(n)
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsNumeric == 0 || basic.Info()&types.IsUntyped != 0 {
		return ""
	}
	if types.TypeString(t, nil) == "time.Duration" {
		return "mutDuration" // the file may not import package time
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p == f.checked {
			return ""
		}
		return p.Name()
	})
}

// extreme is min or max.
func (f *finder) extreme(n *ast.CallExpr) {
	function, ok := n.Fun.(*ast.Ident)
	if !ok {
		return
	}
	if _, builtin := f.info.Uses[function].(*types.Builtin); !builtin || function.Name != "min" && function.Name != "max" {
		return
	}
	name, to := "mutMin", "max"
	if function.Name == "max" {
		name, to = "mutMax", "min"
	}
	f.add(function.Pos(), function.Name+" -> "+to, f.replace(function.Pos(), function.Name, name), f.replace(n.Lparen, "(", "($, "))
}

func (f *finder) assign(n *ast.AssignStmt) {
	name := f.typeName(n.Lhs[0])
	if name == "" {
		return
	}
	to := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[n.Tok]
	f.add(n.TokPos, n.Tok.String()+" -> "+to, f.begin(n, n.Rhs[0], "mutNeg["+name+"]($, "), f.end(n, ")"))
}

func (f *finder) step(n *ast.IncDecStmt) {
	name := f.typeName(n.X)
	if name == "" {
		return
	}
	operator, to := "+=", "--"
	if n.Tok == token.DEC {
		operator, to = "-=", "++"
	}
	f.add(n.TokPos, n.Tok.String()+" -> "+to, f.replace(n.TokPos, n.Tok.String(), " "+operator+" mutNeg["+name+"]($, 1)"))
}

func (f *finder) add(at token.Pos, change string, edits ...edit) {
	position := f.set.Position(at)
	lines := bytes.Split(f.source, []byte("\n"))
	f.sites = append(f.sites, site{edits: edits, mutant: mutant{
		file: f.path, line: position.Line, text: string(bytes.TrimSpace(lines[position.Line-1])), change: change,
	}})
}

// begin puts text before a part of a node.
func (f *finder) begin(n, part ast.Node, text string) edit {
	at := f.offset(part.Pos())
	return edit{from: at, to: at, text: text, outer: int(n.End() - n.Pos())}
}

// end puts text behind a node.
func (f *finder) end(n ast.Node, text string) edit {
	at := f.offset(n.End())
	return edit{from: at, to: at, text: text, outer: -int(n.End() - n.Pos())}
}

func (f *finder) replace(at token.Pos, old, text string) edit {
	from := f.offset(at)
	return edit{from: from, to: from + len(old), text: text}
}
