// Package golden compares what a test makes with a file of the repository, and rewrites the file with -update.
//
//	go test ./events -update   # one package
//	make goldens               # every package that has goldens
//
// The flag is registered once for each test binary. Name the tests Golden...: `make goldens` runs those. Only tests
// import this package; the linter enforces it.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the tests make")

// files serialises access: parallel tests may share a file, each with a block of it. written holds the parts that this
// run has rewritten; whoever makes one of them again must make the same.
var files = struct {
	sync.Mutex
	written map[string]bool
}{written: map[string]bool{}}

// File compares got with a file, or writes the file with -update. If several tests make the same file, the first one
// writes it and the others are compared with it. The path is relative to the package of the test.
func File(tb testing.TB, path string, got []byte) {
	tb.Helper()
	files.Lock()
	defer files.Unlock()
	if rewrites(path) {
		write(tb, path, got)
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(tb, err, "make goldens writes it")
	compare(tb, path, string(want), string(got))
}

// JSON is [File] for a value, as indented JSON without HTML escapes.
func JSON(tb testing.TB, path string, value any) {
	tb.Helper()
	File(tb, path, Encode(tb, value))
}

// Block compares got with the part of a Markdown file that stands between "<!-- NAME -->" and the next "<!-- end -->",
// or rewrites that part with -update. The lines of the marks themselves stay.
func Block(tb testing.TB, path, name, got string) {
	tb.Helper()
	files.Lock()
	defer files.Unlock()
	raw, err := os.ReadFile(path)
	require.NoError(tb, err)
	begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(raw), begin)
	require.True(tb, ok, "%s has no line %q", path, begin)
	want, after, ok := strings.Cut(rest, end)
	require.True(tb, ok, "%s: %q is not followed by %q", path, begin, end)
	if rewrites(path + " " + name) {
		write(tb, path, []byte(before+begin+got+end+after))
		return
	}
	compare(tb, path+", block "+name, want, got)
}

// Encode is the form that goldens of JSON have.
func Encode(tb testing.TB, value any) []byte {
	tb.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(tb, encoder.Encode(value))
	return out.Bytes()
}

// rewrites reports whether a part of a file is to be written now, and not compared.
func rewrites(part string) bool {
	first := *update && !files.written[part]
	files.written[part] = true
	return first
}

func write(tb testing.TB, path string, content []byte) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755)) //nolint:gosec // a directory of the repository
	require.NoError(tb, os.WriteFile(path, content, 0o644))     //nolint:gosec // a file of the repository
}

func compare(tb testing.TB, name, want, got string) {
	tb.Helper()
	if want != got {
		tb.Fatalf("%s differs; if the new text is right, run: make goldens\n%s", name, difference(want, got))
	}
}

// Lines of context around a difference, and the most that are shown of one side.
const (
	context = 3
	most    = 40
)

// difference shows what lies between the first and the last line that differ: "-" is the file's, "+" the test's.
func difference(want, got string) string {
	have, made := strings.Split(want, "\n"), strings.Split(got, "\n")
	head := commonPrefix(have, made)
	slices.Reverse(have)
	slices.Reverse(made)
	tail := min(commonPrefix(have, made), min(len(have), len(made))-head)
	slices.Reverse(have)
	slices.Reverse(made)
	var b strings.Builder
	fmt.Fprintf(&b, "@@ line %d @@\n", head+1)
	list(&b, "  ", have[max(0, head-context):head])
	list(&b, "- ", have[head:len(have)-tail])
	list(&b, "+ ", made[head:len(made)-tail])
	list(&b, "  ", have[len(have)-tail:min(len(have), len(have)-tail+context)])
	return b.String()
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func list(b *strings.Builder, mark string, lines []string) {
	for i, line := range lines {
		if i == most {
			fmt.Fprintf(b, "%s... %d more lines\n", mark, len(lines)-most)
			return
		}
		b.WriteString(mark + line + "\n")
	}
}
