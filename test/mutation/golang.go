package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed runtime.go.txt
var runtimeSource string

// goPackage is a package with mutants: all of them are in its files at once, and each asks whether it is in effect.
type goPackage struct {
	dir, name string
	files     map[string]*goFile // by path
}

type goFile struct {
	source []byte
	sites  []site
}

// site is an operator with its mutant, and the edits that bring it in.
type site struct {
	mutant mutant
	edits  []edit
}

// edit replaces bytes of a source. Where several begin at the same offset, the outer one comes first.
type edit struct {
	from, to int
	text     string
	outer    int // length of what it belongs to; negative for one that ends it
}

// loadGo finds the mutants of Go files, which may be of several packages.
func loadGo(paths []string) ([]*goPackage, error) {
	var packages []*goPackage
	dirs := map[string][]string{}
	for _, path := range paths {
		dirs[filepath.Dir(path)] = append(dirs[filepath.Dir(path)], path)
	}
	names := make([]string, 0, len(dirs))
	for dir := range dirs {
		names = append(names, dir)
	}
	slices.Sort(names)
	for _, dir := range names {
		p, err := loadPackage(dir, dirs[dir])
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", dir, err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Export, Dir string
	GoFiles                 []string
	DepOnly                 bool
}

// goList reads a package and the export data of all that it imports.
func goList(dir string) (own listed, exports map[string]string, err error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,DepOnly", "./" + dir}
	command := exec.Command("go", args...) //nolint:noctx // a directory that the caller named; it ends
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return own, nil, fmt.Errorf("go list: %w", err)
	}
	exports = map[string]string{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return own, exports, nil
		} else if err != nil {
			return own, nil, fmt.Errorf("go list: %w", err)
		}
		exports[one.ImportPath] = one.Export
		if !one.DepOnly {
			own = one
		}
	}
}

func loadPackage(dir string, paths []string) (*goPackage, error) {
	own, exports, err := goList(dir)
	if err != nil {
		return nil, err
	}
	set, sources := token.NewFileSet(), map[string][]byte{}
	var files []*ast.File
	for _, name := range own.GoFiles {
		path := filepath.Join(dir, name)
		if sources[path], err = os.ReadFile(path); err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(set, path, sources[path], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(set, "gc", open)}
	checked, err := config.Check(own.ImportPath, set, files, info)
	if err != nil {
		return nil, err
	}
	p := &goPackage{dir: dir, name: checked.Name(), files: map[string]*goFile{}}
	for _, file := range files {
		path := set.Position(file.Pos()).Filename
		if slices.Contains(paths, path) {
			f := &finder{path: path, source: sources[path], set: set, info: info, checked: checked}
			ast.Inspect(file, f.visit)
			p.files[path] = &goFile{source: sources[path], sites: f.sites}
		}
	}
	return p, nil
}

// render is a file with all its mutants.
func (f *goFile) render() []byte {
	var edits []edit
	for _, s := range f.sites {
		for _, e := range s.edits {
			e.text = strings.ReplaceAll(e.text, "$", strconv.Itoa(s.mutant.id))
			edits = append(edits, e)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		switch {
		case a.outer < 0 && b.outer < 0: // what ends here: the inner one first
			return b.outer - a.outer
		case a.outer < 0 || b.outer < 0:
			return a.outer - b.outer
		default: // what begins here: the outer one first
			return b.outer - a.outer
		}
	})
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(out, f.source[last:e.from]...)
		out = append(out, e.text...)
		last = e.to
	}
	return append(out, f.source[last:]...)
}

// runtimeFile is the file that a package with mutants gets.
func (p *goPackage) runtimeFile() []byte { return []byte("package " + p.name + "\n\n" + runtimeSource) }
