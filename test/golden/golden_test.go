package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing records what a test says before it ends.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = format
	if len(args) > 1 {
		f.said, _ = args[1].(string)
	}
}

func TestDifferenceShowsOnlyTheLinesThatDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, want, got, shown string }{
		{"one line changed", "a\nb\nc\n", "a\nB\nc\n", "@@ line 2 @@\n  a\n- b\n+ B\n  c\n  \n"},
		{"a line added", "a\nc", "a\nb\nc", "@@ line 2 @@\n  a\n+ b\n  c\n"},
		{"a line removed", "a\nb\nc", "a\nc", "@@ line 2 @@\n  a\n- b\n  c\n"},
		{"the same line twice", "a\nb", "a\nb\nb", "@@ line 3 @@\n  a\n  b\n+ b\n"},
		{"nothing in the file", "", "a", "@@ line 1 @@\n- \n+ a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.shown, difference(c.want, c.got))
		})
	}
	require.Contains(t, difference("", strings.Repeat("x\n", 100)), "+ ... 60 more lines\n")
}

func TestFileFailsWhereTheFileDiffers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.golden")
	require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
	f := &failing{TB: t}
	File(f, path, []byte("one\n"))
	require.Empty(t, f.said)
	File(f, path, []byte("two\n"))
	require.Contains(t, f.said, "- one\n+ two\n")
}

func TestBlockComparesOnlyItsPart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.md")
	require.NoError(t, os.WriteFile(path, []byte("# A\n<!-- table: a -->\n| 1 |\n<!-- end -->\n<!-- table: b -->\n| 2 |\n<!-- end -->\n"),
		0o600))
	f := &failing{TB: t}
	Block(f, path, "table: a", "| 1 |\n")
	Block(f, path, "table: b", "| 2 |\n")
	require.Empty(t, f.said)
	Block(f, path, "table: b", "| 3 |\n")
	require.Contains(t, f.said, "- | 2 |\n+ | 3 |\n")
}

// Not parallel: it sets the flag of this binary.
func TestUpdateWritesOnceAndComparesAfterwards(t *testing.T) {
	*update = true
	defer func() { *update = false }()
	directory := t.TempDir()
	path := filepath.Join(directory, "new", "a.golden")
	File(t, path, []byte("one\n"))
	f := &failing{TB: t}
	File(f, path, []byte("two\n"))
	require.Contains(t, f.said, "- one\n+ two\n", "two tests that make one file must agree")

	document := filepath.Join(directory, "a.md")
	require.NoError(t, os.WriteFile(document, []byte("<!-- a -->\nold\n<!-- end -->\nrest\n"), 0o600))
	Block(t, document, "a", "$1 new\n")
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, "<!-- a -->\n$1 new\n<!-- end -->\nrest\n", string(text))
}
