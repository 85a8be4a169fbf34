package main

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is how much of a container's memory, in percent, the garbage collector keeps the heap within: the rest is for
// stacks, buffers of the kernel, and what it has not collected yet.
const memoryShare = 80

// limitMemory keeps the heap within the memory of the container, unless GOMEMLIMIT says how much.
func limitMemory(ctx context.Context, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" { //nolint:forbidigo // Go's own, and no setting of the relay
		log.InfoContext(ctx, "memory limit", "bytes", debug.SetMemoryLimit(-1), "by", "GOMEMLIMIT")
		return
	}
	if container, ok := containerMemory(os.DirFS("/")); ok {
		limit := container / 100 * memoryShare
		debug.SetMemoryLimit(limit)
		log.InfoContext(ctx, "memory limit", "bytes", limit, "by", "container", "container_bytes", container)
	}
}

// unlimited is above what any machine has; version 1 of cgroups writes no limit as a number near the largest.
const unlimited = 1 << 60

// containerMemory is how much memory the control group of this process may use, of version 2 or 1; ok is false where there
// is no limit. The least of its group and those above it counts.
func containerMemory(root fs.FS) (bytes int64, ok bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false // not Linux
	}
	least := int64(unlimited)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		var at, file string
		switch {
		case parts[1] == "":
			at, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			at, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// Within a container the path may be that of the host, which cannot be seen there: the root is the container's then.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			if text, err := fs.ReadFile(root, path.Join(at, group, file)); err == nil {
				if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
					least = min(least, limit)
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return least, least < unlimited
}
