package main

import (
	"regexp"
	"strconv"
	"strings"
)

// lexeme is a piece of a Lua source that is neither white space nor a comment.
type lexeme struct {
	text   string
	offset int
	line   int
}

// luaTokens are the patterns of Lua, the longest first. Long strings and comments have no levels ("[==[") here.
var luaTokens = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`--\[\[(?s:.*?)\]\]`, `--[^\n]*`, `\s+`,
	`\[\[(?s:.*?)\]\]`, `'(?:\\(?s:.)|[^'\\])*'`, `"(?:\\(?s:.)|[^"\\])*"`,
	`0[xX][0-9a-fA-F]+`, `[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?`,
	`[A-Za-z_][A-Za-z0-9_]*`, `\.\.\.`, `\.\.`, `==|~=|<=|>=`, `(?s:.)`,
}, "|") + `)`)

func lex(source string) []lexeme {
	var tokens []lexeme
	line := 1
	for offset := 0; offset < len(source); {
		text := luaTokens.FindString(source[offset:])
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "--") {
			tokens = append(tokens, lexeme{text, offset, line})
		}
		line += strings.Count(text, "\n")
		offset += len(text)
	}
	return tokens
}

// luaSwaps are the operators and what becomes of them.
var luaSwaps = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "==",
	"+": "-", "-": "+", "*": "/", "/": "*", "and": "or", "or": "and",
}

var luaWord = regexp.MustCompile(`^(?:[A-Za-z_0-9'"].*|\)|\]|\[\[.*)$`)

// luaMutants are the mutants of a script or of a part of one.
func luaMutants(file, source string) []mutant {
	tokens, lines := lex(source), strings.Split(source, "\n")
	var mutants []mutant
	for i, t := range tokens {
		before, after := at(tokens, i-1), at(tokens, i+1)
		with, change := luaChange(t.text, before, at(tokens, i-2), after)
		if change == "" {
			continue
		}
		mutants = append(mutants, mutant{
			file: file, line: t.line, text: strings.TrimSpace(lines[t.line-1]), change: change, offset: t.offset, length: len(t.text), with: with,
		})
	}
	number(mutants)
	return mutants
}

func at(tokens []lexeme, i int) string {
	if i < 0 || i >= len(tokens) {
		return ""
	}
	return tokens[i].text
}

// luaKeywords end no operand, so that a minus after them is a sign.
var luaKeywords = map[string]bool{
	"and": true, "or": true, "not": true, "return": true, "in": true, "if": true, "while": true, "until": true, "elseif": true, "then": true,
}

// luaChange is what a lexeme becomes, and how that is named; "" = it stays.
func luaChange(text, before, earlier, after string) (with, change string) {
	switch {
	case text == "-" && (!luaWord.MatchString(before) || luaKeywords[before]):
		return "", "" // a sign
	case luaSwaps[text] != "":
		return luaSwaps[text], text + " -> " + luaSwaps[text]
	case text == "not":
		return "", "not -> (nothing)"
	case (text == "min" || text == "max") && after == "(":
		other := map[string]string{"min": "max", "max": "min"}[text]
		if before == "." {
			return other, text + " -> " + other
		}
		return "math." + other, text + " -> " + other
	case before == "[" && (earlier == "KEYS" || earlier == "ARGV"):
		return "", "" // which argument it is: nothing works with another one
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n+1, 10), text + " -> " + strconv.FormatInt(n+1, 10)
	}
	return "", ""
}

// apply is the source with the mutant in it.
func (m mutant) apply(source string) string {
	return source[:m.offset] + m.with + source[m.offset+m.length:]
}
