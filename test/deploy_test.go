package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// composeFile is the part of Compose's format that deploy/compose.yaml uses. Another key is an error.
type composeFile struct {
	Name     string
	Services map[string]composeService
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]struct{}
	Secrets  map[string]struct{ File string }
}

type composeService struct {
	Image, Restart  string
	Command         []string
	Environment     map[string]string
	Secrets         []string
	Volumes         []string
	Ports           []string
	Healthcheck     composeCheck
	DependsOn       map[string]struct{ Condition string } `yaml:"depends_on"`
	StopGracePeriod string                                `yaml:"stop_grace_period"`
	ReadOnly        bool                                  `yaml:"read_only"`
	CapDrop         []string                              `yaml:"cap_drop"`
	SecurityOpt     []string                              `yaml:"security_opt"`
	MemLimit        string                                `yaml:"mem_limit"`
	Networks        []string
}

type composeCheck struct {
	Test                       []string
	Interval, Timeout, Retries string
	StartPeriod                string `yaml:"start_period"`
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	file, err := os.Open("../deploy/compose.yaml")
	require.NoError(t, err)
	defer file.Close()
	var compose composeFile
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&compose))
	return compose
}

func TestComposeFileDeclaresWhatItsServicesUse(t *testing.T) {
	t.Parallel()
	compose := readCompose(t)
	require.Len(t, compose.Services, 2)
	for name, service := range compose.Services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, service.Healthcheck.Test)
			require.Equal(t, "unless-stopped", service.Restart)
			for needed, condition := range service.DependsOn {
				require.NotEmpty(t, compose.Services[needed].Healthcheck.Test)
				require.Equal(t, "service_healthy", condition.Condition)
			}
			for _, secret := range service.Secrets {
				require.Contains(t, compose.Secrets, secret)
			}
			for _, network := range service.Networks {
				require.Contains(t, compose.Networks, network)
			}
			for _, volume := range service.Volumes {
				source, _, _ := strings.Cut(volume, ":")
				if strings.HasPrefix(source, ".") {
					require.FileExists(t, filepath.Join("../deploy", source))
				} else {
					require.Contains(t, compose.Volumes, source)
				}
			}
			for variable := range service.Environment {
				require.NotRegexp(t, "(TOKEN|PASSWORD|SECRET)$", variable, "a secret comes from a file")
			}
		})
	}
	redis := strings.Join(compose.Services["redis"].Command, " ")
	require.Contains(t, redis, "--appendonly yes")
	require.Contains(t, redis, "--maxmemory-policy noeviction")
	require.Contains(t, compose.Services["relay"].Image, "slackrelay:"+newestRelease(t))
}

// The relay starts with the variables, the configuration and the secrets of the file, and its health check tells whether it runs.
func TestRelayOfTheComposeFileStarts(t *testing.T) {
	t.Parallel()
	service := readCompose(t).Services["relay"]
	secrets := secretFiles(t, service.Secrets...)
	text, err := os.ReadFile("../deploy/relay.yaml")
	require.NoError(t, err)
	config := configFile(t, strings.ReplaceAll(string(text), "/run/secrets", secrets))
	slack := startSlack(t)
	env := []string{"RELAY_SLACK_API_URL=" + slack.APIURL(), "RELAY_LISTEN=:0"} // as in the image, not a loopback address
	paths := strings.NewReplacer("/run/secrets", secrets, "/etc/relay/relay.yaml", config)
	for name, value := range service.Environment {
		if name != "RELAY_REDIS_URL" {
			env = append(env, name+"="+paths.Replace(value))
		}
	}
	require.Empty(t, service.Command, "the image's own is relay serve")
	_, stderr, code := runRelay(t, env, "check")
	require.Equal(t, 0, code, stderr)
	require.NotContains(t, stderr, "RELAY_", "no unknown variable")

	relay := startRelay(t, env...)
	require.Equal(t, []string{"CMD", "/relay", "ready"}, service.Healthcheck.Test)
	env = append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(relay.ops, "http://"))
	stdout, stderr, code := runRelay(t, env, "ready")
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `^(ok|degraded)`, stdout)
	relay.kill()
	_, stderr, code = runRelay(t, env, "ready")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "call the relay")
}

func TestServiceUnitIsValid(t *testing.T) {
	t.Parallel()
	unit := readPage(t, "../deploy/relay.service")
	var names, env []string
	for _, credential := range regexp.MustCompile(`(?m)^LoadCredential=(\w+):/etc/relay/secrets/(\w+)$`).FindAllStringSubmatch(unit, -1) {
		require.Equal(t, credential[1], credential[2])
		names = append(names, credential[1])
	}
	secrets := secretFiles(t, names...)
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "redis_url"), []byte("redis://127.0.0.1:6379/0"), 0o600))
	for _, variable := range regexp.MustCompile(`(?m)^Environment=(\S+)$`).FindAllStringSubmatch(unit, -1) {
		env = append(env, strings.ReplaceAll(variable[1], "%d", secrets))
	}
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/relay serve (--config) /etc/relay/relay.yaml$`).FindStringSubmatch(unit)
	require.NotNil(t, start)
	help, _, _ := runRelay(t, nil, "serve", "--help")
	require.Contains(t, help, start[1])
	_, stderr, code := runRelay(t, env, "check", "--config", configFile(t, channelFile("    ingress_token_file: "+secrets+"/ingress_token\n")))
	require.Equal(t, 0, code, stderr)
	require.NotContains(t, stderr, "RELAY_", "no unknown variable")

	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	path := filepath.Join(t.TempDir(), "relay.service")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(unit, "/usr/local/bin/relay", program())), 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), path, "no warning")
}

func TestVersionComesFromTheChangelog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ changes, version string }{
		"a release":               {"# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n- A change.\n", "0.2.0"},
		"changes since a release": {"## [Unreleased]\n\n- A change.\n\n## [0.2.0] - 2026-12-01\n", "0.2.0-dev"},
		"no release":              {"## [Unreleased]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), []byte(c.changes), 0o600))
			cmd := exec.CommandContext(t.Context(), "../.ci/version", folder)
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
			out, err := cmd.Output()
			require.Equal(t, c.version == "", err != nil)
			require.Equal(t, c.version, strings.TrimSpace(string(out)))
		})
	}
}

func TestWorkflowsHaveFewPermissionsAndCallTheProjectsScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	require.NoError(t, err)
	require.Len(t, files, 2)
	targets := readPage(t, "../Makefile")
	for _, path := range files {
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Steps []struct{ Uses, Run string }
			}
		}
		text := readPage(t, path)
		require.NoError(t, yaml.Unmarshal([]byte(text), &workflow))
		require.NotNil(t, workflow.Permissions, "without it, a job may write everything")
		require.NotContains(t, fmt.Sprint(workflow.Permissions), "write", "only a job that needs it may write")
		for _, job := range workflow.Jobs {
			for _, step := range job.Steps {
				require.NotContains(t, step.Run, "${{", "an expression in a script would run as a part of it")
				if step.Uses != "" {
					require.Regexp(t, `^[\w-]+/[\w-]+@(v\d+|[0-9a-f]{40})$`, step.Uses)
				}
			}
		}
		for _, target := range regexp.MustCompile(`make (?:--silent )?([a-z][a-z-]+)\b`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, targets, "\n"+target[1]+":", path)
		}
		for _, script := range regexp.MustCompile(`run: (\.ci/\w+)`).FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join("..", script[1]))
		}
	}
}

// secretFiles returns a folder with a file for each secret.
func secretFiles(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("xoxb-s3cret-"+name), 0o600))
	}
	return folder
}

// newestRelease is the newest version in the changelog.
func newestRelease(t *testing.T) string {
	t.Helper()
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\] - `).FindStringSubmatch(readPage(t, "../CHANGELOG.md"))
	require.NotNil(t, newest)
	return newest[1]
}
