package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestComposedFilesAreFresh(t *testing.T) {
	t.Parallel()
	files, err := generate("..")
	require.NoError(t, err)
	maps.Copy(files, generatedParts(".."))
	for name, want := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			have, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, want, string(have), "%s is stale: go generate ./lua", name)
		})
	}
}

func TestEveryComposedScriptHasASource(t *testing.T) {
	t.Parallel()
	files, err := generate("..")
	require.NoError(t, err)
	scripts, err := filepath.Glob("../*.lua")
	require.NoError(t, err)
	for _, script := range scripts {
		require.Contains(t, files, script, "%s has no source in lua/src: delete it", script)
	}
}

func TestEveryPartIsIncludedSomewhere(t *testing.T) {
	t.Parallel()
	parts, err := partsOf("..")
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	for part, scripts := range parts {
		require.NotEmpty(t, scripts, "%s is in no script: delete it", part)
	}
}

func TestSourcesStaySmall(t *testing.T) {
	t.Parallel()
	parts, err := partsOf("..")
	require.NoError(t, err)
	for part := range parts {
		text, err := os.ReadFile(filepath.Join("../src", part+".lua"))
		require.NoError(t, err)
		require.LessOrEqual(t, countLines(text), 250, part)
	}
}

func TestPartsTakeThePlaceOfTheirIncludeLines(t *testing.T) {
	t.Parallel()
	text, err := compose(fstest.MapFS{
		"a.lua":       {Data: []byte("-- a.lua: an example.\n\nif true then\n  --- @include parts/b\nend\n")},
		"parts/b.lua": {Data: []byte("-- part b: one more.\nlocal x = 1\n\n--- @include parts/c\n")},
		"parts/c.lua": {Data: []byte("-- part c: the last.\n")},
	}, "a")
	require.NoError(t, err)
	require.Equal(t, `-- a.lua: an example.
--
-- Code generated from lua/src/a.lua by go generate ./lua; DO NOT EDIT.

if true then
  -- part b: one more.
  local x = 1

  -- part c: the last.
end
`, text)
}

func TestPartsOfAFolderAreIncludedInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	text, err := compose(fstest.MapFS{
		"a.lua":            {Data: []byte("-- a.lua: an example.\n\n--- @include parts/some/*\n")},
		"parts/some.lua":   {Data: []byte("-- part some: not in the folder.\n")},
		"parts/some/c.lua": {Data: []byte("-- part some/c: the last.\n")},
		"parts/some/b.lua": {Data: []byte("-- part some/b: the first.\n")},
	}, "a")
	require.NoError(t, err)
	require.Contains(t, text, "\n-- part some/b: the first.\n-- part some/c: the last.\n")
	require.NotContains(t, text, "not in the folder")
}

func TestComposeRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ source, part, want string }{
		"a part that does not exist":  {"--- @include parts/nothing", "-- part b: fine.", "parts/nothing.lua: file does not exist"},
		"a part that is there twice":  {"--- @include parts/b\n--- @include parts/b", "-- part b: fine.", "parts/b is included twice"},
		"a folder without parts":      {"--- @include parts/c/*", "-- part b: fine.", "parts/c has no parts"},
		"a part without its title":    {"--- @include parts/b", "local x", `must begin with the line "-- part b: "`},
		"an include line with a typo": {"-- @include parts/b", "-- part b: fine.", "is not an include line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compose(fstest.MapFS{"a.lua": {Data: []byte(row.source)}, "parts/b.lua": {Data: []byte(row.part)}}, "a")
			require.ErrorContains(t, err, row.want)
		})
	}
}

// partsOf returns, for each source and part, the scripts that it is in.
func partsOf(dir string) (map[string][]string, error) {
	sources := os.DirFS(filepath.Join(dir, "src"))
	parts := map[string][]string{}
	err := fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			parts[strings.TrimSuffix(name, ".lua")] = nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the parts: %w", err)
	}
	for name := range parts {
		if strings.Contains(name, "/") {
			continue
		}
		c := composition{sources: sources, script: name, parts: map[string]bool{}}
		if err := c.add(name+".lua", ""); err != nil {
			return nil, fmt.Errorf("compose %s.lua: %w", name, err)
		}
		parts[name] = append(parts[name], name)
		for part := range c.parts {
			parts[part] = append(parts[part], name)
		}
	}
	return parts, nil
}

func countLines(text []byte) int { return strings.Count(string(text), "\n") }
