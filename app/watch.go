package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"slackrelay/configs"
)

const (
	// settleFiles is how long files must be unchanged before they are read: several often change together.
	settleFiles = 100 * time.Millisecond
	// pollFiles is how often files are read without a notification, for file systems that send none.
	pollFiles = 30 * time.Second
)

// fileWatcher notices when a configuration file, or a file that it names, changes. Its methods must not be called at once.
type fileWatcher struct {
	path     string // of the configuration file; "" = none
	log      *slog.Logger
	snapshot string            // hash of the contents that changed returned last
	watcher  *fsnotify.Watcher // nil = nothing is watched
}

func newFileWatcher(path string, log *slog.Logger) *fileWatcher {
	return &fileWatcher{path: path, log: log}
}

// changed reports whether the contents of the files differ from those at the previous call.
func (w *fileWatcher) changed(cfg configs.Config) bool {
	sum := sha256.New()
	for _, file := range w.files(cfg) {
		content, err := os.ReadFile(file)
		fmt.Fprintf(sum, "%s %d %v\n", file, len(content), err)
		sum.Write(content)
	}
	snapshot := hex.EncodeToString(sum.Sum(nil))
	changed := snapshot != w.snapshot
	w.snapshot = snapshot
	return changed
}

func (w *fileWatcher) files(cfg configs.Config) []string {
	files := cfg.Files()
	if w.path != "" {
		files = append(files, w.path)
	}
	return files
}

// watch sends on changed soon after the files of a configuration change. It watches their directories: Kubernetes swaps a
// link (..data) there, and editors replace files. Where watching is impossible, changed is nil.
func (w *fileWatcher) watch(ctx context.Context, cfg configs.Config) (changed <-chan time.Time, stop func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		w.log.WarnContext(ctx, "files not watched", "read_every", pollFiles, "error", err)
		return nil, func() {}
	}
	w.watcher = watcher
	w.add(ctx, cfg)
	settled := time.NewTimer(time.Hour)
	settled.Stop()
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for range watcher.Events {
			settled.Reset(settleFiles)
		}
	})
	forwarding.Go(func() {
		for range watcher.Errors { // the next poll finds what was missed
		}
	})
	return settled.C, func() {
		watcher.Close()
		settled.Stop()
		forwarding.Wait()
	}
}

// add watches the directories of the files of a configuration, beside those that are watched already.
func (w *fileWatcher) add(ctx context.Context, cfg configs.Config) {
	if w.watcher == nil {
		return
	}
	for _, file := range w.files(cfg) {
		if err := w.watcher.Add(filepath.Dir(file)); err != nil {
			w.log.WarnContext(ctx, "file not watched", "file", file, "read_every", pollFiles, "error", err)
		}
	}
}
