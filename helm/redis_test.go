//go:build chart

package helm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	redisstore "slackrelay/store/redis"
)

// awkward is a password with all that a shell or Redis's configuration could trip over.
const awkward = `a "b' \c $HOME *#`

func bundledRedis(t *testing.T, more string) map[string]object {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	text := "redisPassword: '" + strings.ReplaceAll(awkward, "'", "''") + "'\nbundledRedis: {enabled: true}\n" + more
	require.NoError(t, os.WriteFile(values, []byte(text), 0o600))
	return render(t, "--values", values)
}

// The chart's own Redis is reached by the relay, and by nobody's Service but its own.
func TestBundledRedis(t *testing.T) {
	objects := bundledRedis(t, "networkPolicy: {enabled: true}\nchannels: [{name: default, ingressToken: in}]\n")
	env := environment(t, objects)
	require.Contains(t, env, "RELAY_REDIS_URL=redis://my-relay-redis:6379/0")
	stdout, stderr, err := check(t, env)
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "redis_password: '********'")

	relays := at[object](t, objects["Service/my-relay"], "spec", "selector")
	pod := at[object](t, objects["StatefulSet/my-relay-redis"], "spec", "template", "metadata", "labels")
	require.NotEqual(t, relays["app.kubernetes.io/name"], pod["app.kubernetes.io/name"], "webhooks would go to Redis")
	for _, selector := range []object{
		at[object](t, objects["Service/my-relay-redis"], "spec", "selector"),
		at[object](t, objects["StatefulSet/my-relay-redis"], "spec", "selector", "matchLabels"),
		at[object](t, objects["NetworkPolicy/my-relay-redis"], "spec", "podSelector", "matchLabels"),
	} {
		for name, value := range selector {
			require.Equal(t, value, pod[name])
		}
	}
	from := at[object](t, objects["NetworkPolicy/my-relay-redis"], "spec", "ingress", 0, "from", 0, "podSelector", "matchLabels")
	require.Equal(t, relays, from)
	claim := at[object](t, objects["StatefulSet/my-relay-redis"], "spec", "volumeClaimTemplates", 0)
	require.Equal(t, "2Gi", at[string](t, claim, "spec", "resources", "requests", "storage"))
	require.Equal(t, "/data", at[string](t, redisContainer(t, objects), "volumeMounts", 0, "mountPath"))
}

// The command of docs/kubernetes.md installs something that the relay can start with, and each file of values there is accepted.
func TestTheDocumentedInstallation(t *testing.T) {
	text, err := os.ReadFile("../docs/kubernetes.md")
	require.NoError(t, err)
	command := regexp.MustCompile("(?s)helm install relay helm/relay --namespace relay --create-namespace (.*?)```").FindSubmatch(text)
	require.NotNil(t, command)
	var args []string
	for _, set := range regexp.MustCompile(`--set '?([^\s']+)'?`).FindAllSubmatch(command[1], -1) {
		args = append(args, "--set", string(set[1]))
	}
	require.Len(t, args, 6)
	_, stderr, err := check(t, environment(t, render(t, args...)))
	require.NoError(t, err, stderr)
	files := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	require.Len(t, files, 3)
	for _, file := range files {
		renderValues(t, string(file[1]))
	}
}

// The rights of the bundled Redis's user are those of docs/redis.md.
func TestRightsInRedisAreTheDocumentedOnes(t *testing.T) {
	text, err := os.ReadFile("../docs/redis.md")
	require.NoError(t, err)
	rights := regexp.MustCompile(`(?s)ACL SETUSER relay on >choose-one (.*?)\n\x60\x60\x60`).FindSubmatch(text)
	require.NotNil(t, rights)
	documented := strings.Join(strings.Fields(strings.ReplaceAll(string(rights[1]), "\\", "")), " ")
	require.Contains(t, at[string](t, redisContainer(t, bundledRedis(t, "")), "args", 0), "user default on #$hash "+documented+"\n")
}

func redisContainer(t *testing.T, objects map[string]object) object {
	t.Helper()
	return at[object](t, objects["StatefulSet/my-relay-redis"], "spec", "template", "spec", "containers", 0)
}

// What the pod would run is run here, with its files elsewhere and on a socket.
func TestTheBundledRedisRuns(t *testing.T) {
	objects := bundledRedis(t, "")
	dir, socket := t.TempDir(), filepath.Join(t.TempDir(), "s")
	conf := at[string](t, objects["ConfigMap/my-relay-redis"], "data", "redis.conf")
	conf = strings.NewReplacer("port 6379", "port 0\nunixsocket "+socket, "/data", dir).Replace(conf) + "\nuser test on nopass ~* +@all\n"
	require.NoError(t, os.WriteFile(dir+"/redis.conf", []byte(conf), 0o600))
	container := redisContainer(t, objects)
	script := strings.ReplaceAll(at[string](t, container, "args", 0), "/etc/redis", dir)
	require.Equal(t, []any{"sh", "-c"}, container["command"])
	server := exec.CommandContext(t.Context(), "sh", "-c", script)
	server.Env = append(os.Environ(), "RELAY_REDIS_PASSWORD="+awkward)
	require.NoError(t, server.Start())

	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, Password: awkward})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 10*time.Second, 10*time.Millisecond)
	warnings, err := redisstore.Probe(t.Context(), client)
	require.NoError(t, err)
	require.Empty(t, warnings, "it is what the relay asks for")
	for _, refused := range [][]any{{"FLUSHALL"}, {"CONFIG", "SET", "maxmemory", "1"}, {"SET", "other", "1"}} {
		require.ErrorContains(t, client.Do(t.Context(), refused...).Err(), "NOPERM", "it has the rights of the relay only")
	}
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, Username: "test", Password: "x"})
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	set, err := admin.ConfigGet(t.Context(), "*").Result()
	require.NoError(t, err)
	for name, value := range map[string]string{
		"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "maxmemory": "268435456", "save": "",
	} {
		require.Equal(t, value, set[name], name)
	}

	probe := at[[]any](t, container, "readinessProbe", "exec", "command")
	for password, ready := range map[string]bool{awkward: true, "another": false} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(probe[2].(string), "-h 127.0.0.1", "-s "+socket))
		cmd.Env = append(os.Environ(), "RELAY_REDIS_PASSWORD="+password)
		require.Equal(t, ready, cmd.Run() == nil, password)
	}
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait(), "the signal reaches Redis itself, which saves and leaves")
}

// Two of Redis, or one that nobody may enter, are found before anything is installed.
func TestBundledRedisRefuses(t *testing.T) {
	for fault, set := range map[string]string{
		"redisPassword":      "redisPassword=",
		"redis.addrs":        "redisPassword=x,redis.addrs={r:6379}",
		"redis.username":     "redisPassword=x,redis.username=me",
		"redis.waitReplicas": "redisPassword=x,redis.waitReplicas=1",
		"appendfsync":        "redisPassword=x,bundledRedis.appendfsync=no",
	} {
		require.Contains(t, refused(t, "bundledRedis.enabled=true,"+set), fault, set)
	}
	objects := render(t, "--set", "bundledRedis.enabled=true,existingSecret=mine")
	require.Equal(t, "mine", at[string](t, redisContainer(t, objects), "env", 0, "valueFrom", "secretKeyRef", "name"))
}
