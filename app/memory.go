package app

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// memoryShare is the share of a container's memory, in percent, that the garbage collector keeps the heap within. The rest is
// for stacks, kernel buffers, and garbage that is not collected yet.
const memoryShare = 80

// limitMemory keeps the heap within the memory of the container, unless GOMEMLIMIT sets a limit.
func limitMemory(ctx context.Context, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" { //nolint:forbidigo // Go's own variable, not a setting of the relay
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

// containerMemory is how many bytes of memory the control group of this process may use, in version 1 or 2; ok is false where
// there is no limit. The lowest limit of its group and those above it counts.
func containerMemory(root fs.FS) (bytes int64, ok bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false // not Linux
	}
	lowest := int64(unlimited)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		switch controllers, group := parts[1], parts[2]; {
		case controllers == "":
			lowest = min(lowest, groupLimit(root, "sys/fs/cgroup", "memory.max", group))
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			lowest = min(lowest, groupLimit(root, "sys/fs/cgroup/memory", "memory.limit_in_bytes", group))
		}
	}
	return lowest, lowest < unlimited
}

// groupLimit is the lowest limit of a group and those above it. Within a container the path may be that of the host, which is
// not visible there: then only the root, which is the container's own, has a limit.
func groupLimit(root fs.FS, mount, file, group string) int64 {
	lowest := int64(unlimited)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		if text, err := fs.ReadFile(root, path.Join(mount, group, file)); err == nil {
			limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && limit > 0 {
				lowest = min(lowest, limit)
			}
		}
		if group == "/" {
			return lowest
		}
	}
}

// releaseMemory returns memory that is not used to the system. Reading a configuration takes a multiple of what is kept of it,
// and nothing would return the rest soon.
func releaseMemory() { debug.FreeOSMemory() }
