package simulation

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReportsEscapeTracesAndLoadNothing(t *testing.T) {
	t.Parallel()
	trace, err := Generate("many", 2000, 1)
	require.NoError(t, err)
	trace[0].Category = "<script>alert(1)</script>"
	var report Report
	report.Title = "many & more"
	for _, setting := range []Setting{
		{Name: "a <b>", Channel: channel(100, 10, 30*time.Minute, "")},
		{Name: "tighter", Channel: channel(10, 1, 30*time.Minute, "")},
	} {
		played := 0
		run, err := Play(t.Context(), trace, setting, func(n int) { played = n })
		require.NoError(t, err)
		require.Equal(t, 2000, played)
		report.Runs = append(report.Runs, run)
	}
	var page, chart bytes.Buffer
	require.NoError(t, report.WriteHTML(&page))
	require.Equal(t, 2, strings.Count(page.String(), "<svg"))
	require.NotContains(t, page.String(), "<script>", "what comes from a trace is text")
	require.NotContains(t, page.String(), "http-equiv")
	require.NotRegexp(t, `(src|href)="https?:`, page.String(), "it asks for nothing")
	require.Contains(t, page.String(), `1. a &lt;b&gt;</span></td><td>2,000</td>`)
	require.Contains(t, page.String(), `1. a &lt;b&gt;: messages posted in each `)
	require.Contains(t, page.String(), `<span class="bad">never</span>`)
	require.NoError(t, report.WriteSVG(&chart))
	for decoder := xml.NewDecoder(&chart); ; {
		if _, err := decoder.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.NoError(t, Report{Title: "nothing"}.WriteHTML(io.Discard))
}
