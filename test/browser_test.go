//go:build page

package test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is a tab of a real Chromium.
type browser struct {
	ctx context.Context

	mu     sync.Mutex
	errors []string // of the page's console
}

func openBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(t, err, "install the Debian package chromium; make page does")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	ctx, stop := chromedp.NewContext(allocator)
	ctx, expire := context.WithTimeout(ctx, 2*time.Minute)
	b := &browser{ctx: ctx}
	t.Cleanup(func() {
		expire()
		stop()
		stopAllocator()
	})
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	})
	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate("about:blank")))
	return b
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	require.NoError(t, chromedp.Run(ctx, actions...))
}

func (b *browser) text(t *testing.T) (text string) {
	t.Helper()
	b.do(t, chromedp.Evaluate("document.body ? document.body.innerText : ''", &text))
	return text
}

func (b *browser) shows(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(b.text(t), text) }, 20*time.Second, 50*time.Millisecond, text)
}

// press clicks on the first such button of a table that is redrawn all the time, wherever it is.
func (b *browser) press(t *testing.T, button string) {
	t.Helper()
	b.do(t, chromedp.WaitVisible(button), chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).click()", button), nil))
}

func (b *browser) consoleErrors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errors
}

// accessible requires that axe finds no violation of WCAG 2.1, A and AA.
func (b *browser) accessible(t *testing.T) {
	t.Helper()
	axe, err := os.ReadFile("testdata/axe.min.js")
	require.NoError(t, err)
	var found []struct{ ID, Help, Nodes string }
	b.do(t, chromedp.Evaluate(string(axe), nil), chromedp.Evaluate(
		`axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(`+
			`r => r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html).join('\n')})))`,
		&found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	require.Empty(t, found)
}

// picture checks the page at a width; with PICTURES, the name of a folder, it also keeps a screenshot there.
func (b *browser) picture(t *testing.T, name string, width int64, dark bool) {
	t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	var png []byte
	b.do(t, chromedp.EmulateViewport(width, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
	var drawn bool // as wide as its place
	require.Eventually(t, func() bool {
		b.do(t, chromedp.Evaluate("document.querySelector('#chart .uplot').offsetWidth === document.getElementById('chart').clientWidth", &drawn))
		return drawn
	}, 10*time.Second, 50*time.Millisecond)
	b.do(t, chromedp.FullScreenshot(&png, 100))
	var wider bool
	b.do(t, chromedp.Evaluate("document.documentElement.scrollWidth > innerWidth", &wider))
	require.False(t, wider, "nothing sticks out at %d px", width)
	b.accessible(t)
	if folder := os.Getenv("PICTURES"); folder != "" { //nolint:forbidigo // for the eyes of a person
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644))
	}
}
