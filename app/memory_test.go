package app

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestContainerMemoryIsFoundInEveryCgroupVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		bytes int64
	}{
		"version 2, in a container": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		"version 2, a service": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/relay.service\n", "sys/fs/cgroup/system.slice/relay.service/memory.max": "max\n",
			"sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
		}, 1 << 30},
		"version 2, the least": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2000\n", "sys/fs/cgroup/a/memory.max": "1000\n",
		}, 1000},
		"version 2, none": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"version 1, the path of the host": {map[string]string{
			"proc/self/cgroup": "12:cpu,cpuacct:/x\n4:memory:/kubepods/pod1/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
		}, 256 << 20},
		"version 1, none": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"both versions": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "5000\n",
		}, 5000},
		"nonsense":         {map[string]string{"proc/self/cgroup": "::\n\nx\n0::/../..\n", "sys/fs/cgroup/memory.max": "lots\n"}, 0},
		"no control group": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{}
			for file, text := range c.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			bytes, ok := containerMemory(root)
			require.Equal(t, c.bytes > 0, ok)
			if ok {
				require.Equal(t, c.bytes, bytes)
			}
		})
	}
}
