package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

// maxIdleChannel is the heap that a channel may take that has never received an event, in bytes. It is less than half of the
// memory that a channel may take in all: the collector lets the heap grow to twice what is in use.
const maxIdleChannel = 4500

// An idle channel takes little memory, whatever it shares with the others.
func TestIdleChannelTakesLittleMemory(t *testing.T) {
	const few, many = 100, 2100
	base := heapOf(t, few)
	perChannel := (heapOf(t, many) - base) / (many - few)
	t.Logf("%d bytes a channel", perChannel)
	require.Less(t, perChannel, int64(maxIdleChannel))
}

// heapOf returns the bytes in use on the heap after a relay with that many channels was assembled.
func heapOf(t *testing.T, channels int) int64 {
	t.Helper()
	var file strings.Builder
	file.WriteString("listen: 127.0.0.1:0\nops_listen: 127.0.0.1:0\ndrain: 0s\nchannels:\n")
	for i := range channels {
		fmt.Fprintf(&file, "  - {name: c%[1]d, slack_webhook_url: \"http://127.0.0.1:9/T/B/%[1]d\", ingress_token: token-of-channel-%[1]d}\n", i)
	}
	path := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o600))
	before := heapInUse()
	r, err := New(t.Context(), Options{Flags: configs.Flags{File: path}})
	require.NoError(t, err)
	used := heapInUse() - before
	runtime.KeepAlive(r)
	r.close(t.Context())
	return used
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what has a finalizer, or was in a pool
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
