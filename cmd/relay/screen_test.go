package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWatchedScreenFitsTheTerminal(t *testing.T) {
	t.Parallel()
	text := "HEAD\n" + strings.Repeat("\x1b[31mline\x1b[0m\n", 30) + strings.Repeat("wide ", 10) + "\ndegraded  the reason\n"
	require.Equal(t, text, fitted(text, size{}), "the size is unknown")
	require.Equal(t, text, fitted(text, size{50, 34}))
	for rows := 4; rows < 34; rows++ {
		for _, columns := range []int{20, 50, 80} {
			t.Run(fmt.Sprint(rows, columns), func(t *testing.T) {
				t.Parallel()
				shown := fitted(text, size{columns, rows})
				require.Less(t, rowsOf(strings.Split(strings.TrimSuffix(shown, "\n"), "\n"), columns), rows)
				require.True(t, strings.HasPrefix(shown, "HEAD\n"), shown)
				if rows > 5 {
					require.Contains(t, shown, "\ndegraded  the reason\n")
				}
				require.Regexp(t, `… \d+ more lines`, shown)
			})
		}
	}
}

func TestTimesHaveTheirZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)
	text := localTime(at)
	require.Regexp(t, `^2026-11-\d\d \d\d:\d\d:00(Z|[+-]\d\d:\d\d)$`, text)
	for _, pasted := range []string{text, "2026-11-20T22:00:00Z", "2026-11-21 00:00:00+02:00"} {
		read, err := parseTime("--from", pasted)
		require.NoError(t, err)
		require.True(t, at.Equal(read), pasted)
	}
}
