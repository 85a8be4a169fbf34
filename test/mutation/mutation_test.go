package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// changes are the mutants of one line of Lua.
func changes(t *testing.T, source string) []string {
	t.Helper()
	var all []string
	for _, m := range luaMutants("x.lua", source) {
		all = append(all, m.change+": "+m.apply(source))
	}
	return all
}

func TestMutantsOfLua(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		`if a <= b then`: {"<= -> <: if a < b then"},
		`a and not b`:    {"and -> or: a or not b", "not -> (nothing): a and  b"},
		`x = -y`:         nil,
		`return -1`:      {"1 -> 2: return -2"},
		`x[i]-y`:         {"- -> +: x[i]+y"},
		`max(a, b)`:      {"max -> min: math.min(a, b)"},
		`math.min(a, b)`: {"min -> max: math.max(a, b)"},
		`KEYS[1] + n`:    {"+ -> -: KEYS[1] - n"},
		`'a + b' .. "<"`: nil,
		`-- a + b`:       nil,
		"--[[ a < b\n]]": nil,
		`a ~= b`:         {"~= -> ==: a == b"},
		`a.b2 % 1.5`:     nil,
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, changes(t, source))
		})
	}
}

func TestEqualChangesOfALineAreNumbered(t *testing.T) {
	t.Parallel()
	mutants := luaMutants("x.lua", "a = b\n  c = d + e + f\n")
	require.Len(t, mutants, 2)
	require.Equal(t, "x.lua: + -> -\nc = d + e + f", mutants[0].key())
	require.Equal(t, "x.lua: + -> - (2)\nc = d + e + f", mutants[1].key())
	require.Equal(t, 2, mutants[1].line)
}

// rendered is what the compiler reads of a Go file.
func rendered(t *testing.T, source string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("go.mod", []byte("module m\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.Mkdir("p", 0o700))
	path := filepath.Join("p", "p.go")
	require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
	packages, err := loadGo([]string{path})
	require.NoError(t, err)
	file := packages[0].files[path]
	for i := range file.sites {
		file.sites[i].mutant.id = i + 1
	}
	return string(file.render())
}

func TestMutantsOfGo(t *testing.T) {
	for body, want := range map[string]string{
		"return a < b && !c":      "return mutAnd(1, mutLt(2, a , b) , func() bool { return ( (!c != mutOn(3))) })",
		"return a == 1+b || c":    "return mutOr(1, ((a == mutAdd(3, mutInc[int](4, 1),b)) != mutOn(2)) , func() bool { return ( c) })",
		"a += 2; b--; return c":   "a += mutNeg[int](1, mutInc[int](2, 2)); b -= mutNeg[int](3, 1); return c",
		"return max(a, b) > 1<<4": "return mutGt(1, mutMax(2, a, b) , 1<<4)",
		"const n = 4; return c":   "const n = 4; return c",
		`s := "x" + t; return c`:  `s := "x" + t; return c`,
	} {
		t.Run(body, func(t *testing.T) {
			source := "package p\n\nfunc f(a, b int, c bool, t string) bool { " + body + " }\n"
			if strings.HasPrefix(body, "s :=") {
				source = strings.Replace(source, "return c", "_ = s; return c", 1)
				want = strings.Replace(want, "return c", "_ = s; return c", 1)
			}
			require.Contains(t, rendered(t, source), want)
		})
	}
}

func TestTheListOfEquivalentMutants(t *testing.T) {
	t.Parallel()
	mutants := luaMutants("x.lua", "if a < b then c = 1000 end")
	path := filepath.Join(t.TempDir(), "list")
	write := func(text string) (equivalents, error) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return readEquivalents(path)
	}
	all, err := write("# about the list\n\nx.lua: 1000 -> 1001\n    if a < b then c = 1000 end\n    # nobody counts\n    # that far\n")
	require.NoError(t, err)
	require.Equal(t, equivalents{"x.lua: 1000 -> 1001\nif a < b then c = 1000 end": "nobody counts that far"}, all)
	require.Empty(t, all.gone(mutants))
	require.Len(t, choose(mutants, all, options{}), 1)

	all, err = write("x.lua: 1000 -> 1001\n    if a > b then c = 1000 end\n    # the line has changed since\n")
	require.NoError(t, err)
	require.Equal(t, []string{"x.lua: 1000 -> 1001 | if a > b then c = 1000 end"}, all.gone(mutants))

	_, err = write("x.lua: 1000 -> 1001\n    if a < b then c = 1000 end\n")
	require.ErrorContains(t, err, "it has no reason")
}

func TestASurvivorIsAnError(t *testing.T) {
	t.Parallel()
	survivor := result{fate: survived, mutant: mutant{file: "x.lua", line: 3, change: "< -> <=", nth: 1}}
	results := []result{{fate: killed}, {fate: timedOut}, {fate: killed}}
	var out strings.Builder
	require.NoError(t, report(&out, results, "the list"))
	require.ErrorContains(t, report(&out, append(results, survivor), "the list"), "no test notices 1 of 4 mutants (75.0 % are noticed)")
	require.Contains(t, out.String(), "No test notices:\nx.lua:3: < -> <=")
	require.Regexp(t, `all scripts +0 +0 +1 +0\.0 %`, out.String())
}

// A change in a part changes the scripts that contain it, and those only.
func TestAMutantOfAPartChangesItsScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sources := map[string]string{"src/a.lua": "a < b", "src/b.lua": "c"}
	command := "cat {src}/a.lua {src}/b.lua > {out}/one.lua; cp {src}/b.lua {out}/two.lua"
	c, err := newComposer(options{src: "src", compose: command}, sources, dir)
	require.NoError(t, err)
	m := luaMutants("src/a.lua", sources["src/a.lua"])[0]
	require.NoError(t, c.write(m, filepath.Join(dir, "scripts")))
	written, err := filepath.Glob(filepath.Join(dir, "scripts", "*"))
	require.NoError(t, err)
	require.Len(t, written, 1)
	text, err := os.ReadFile(written[0])
	require.NoError(t, err)
	require.Equal(t, "a <= bc", string(text))
}

func TestSubtestsRunWithoutTheirSiblings(t *testing.T) {
	t.Parallel()
	require.Equal(t, "^(TestA|TestB)$", pattern([]string{"TestA", "TestB"}))
	require.Equal(t, "^TestStore$/^(admission|dead_letters)$", pattern([]string{"TestStore/admission", "TestStore/dead_letters"}))
}

func TestTheFirstFailureNamesItsSubtest(t *testing.T) {
	t.Parallel()
	for name, output := range map[string]string{
		"TestStore/admission/a_unit": "=== RUN   TestStore\n=== RUN   TestStore/admission/a_unit\n=== CONT  TestStore/admission/a_unit\n" +
			"    a_test.go:1: \n        \tError Trace:\ta_test.go:1\n=== RUN   TestStore/admission/b\n    a_test.go:2: \n        \tError Trace:\n",
		"TestStore/histories": "=== NAME  TestStore/histories\n    run.go:99: [rapid] failed after 3 tests: units\n",
		"TestStore/leases/a": "=== RUN   TestStore/leases/a\n--- FAIL: TestStore (0.00s)\n    --- FAIL: TestStore/leases (0.00s)\n" +
			"        --- FAIL: TestStore/leases/a (0.00s)\npanic: no map [recovered]\n",
		"TestA":       "=== RUN   TestA\npanic: no map [recovered]\n",
		"the process": "panic: before any test\n",
		"":            "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n",
	} {
		ended := 0
		require.Equal(t, name, firstFailure(strings.NewReader(output), func() error { ended++; return nil }))
		require.Equal(t, name != "", ended == 1, "it ends the tests once")
	}
}

func TestASubtestIsPartOfTheTestThatRan(t *testing.T) {
	t.Parallel()
	require.Equal(t, "TestStore/admission", nameOf("TestStore/admission/a_unit", []string{"TestStore/admission"}))
	require.Equal(t, "TestA", nameOf("TestA/b/c", []string{"TestA"}))
	require.Equal(t, "TestA", nameOf("TestA", []string{"TestA"}))
	require.Empty(t, nameOf("the process", []string{"TestA"}))
}

// A test that noticed mutants of a file is tried first, by itself, against others of that file.
func TestWhatNoticedMutantsOfAFileRunsFirst(t *testing.T) {
	t.Parallel()
	quick, slow := test{name: "TestQuick", took: time.Millisecond}, test{name: "TestSlow", took: time.Second}
	r := &runner{tests: []test{quick, slow}}
	r.killers.add("x.lua", "", "TestSlow")
	require.Equal(t, []stage{{names: []string{"TestSlow"}}, {names: []string{"TestQuick"}}}, r.stages(mutant{file: "x.lua"}))
	require.Equal(t, []stage{{names: []string{"TestQuick", "TestSlow"}}}, r.stages(mutant{file: "y.lua"}))
}

// The sources of the scripts lie in folders, and a part may have the name of a script.
func TestSourcesKeepTheirFolders(t *testing.T) {
	t.Parallel()
	sources := map[string]string{"src/a.lua": "whole", "src/parts/b/a.lua": "part"}
	c, err := newComposer(options{src: "src", compose: "cat {src}/a.lua {src}/parts/b/a.lua > {out}/a.lua"}, sources, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.lua": "wholepart"}, c.whole)
}
