package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// runMain makes the test binary behave as the program, with its arguments and its environment.
const runMain = "RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" { //nolint:forbidigo // set by runRelay
		main()
	}
	goleak.VerifyTestMain(m)
}

// runRelay runs a command to its end, with these variables and nothing else in its environment.
func runRelay(tb testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	program, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.CommandContext(tb.Context(), program, args...)
	var out, errOut bytes.Buffer
	cmd.Env = append([]string{runMain + "=1"}, env...)
	cmd.Stdout = &out
	cmd.Stderr = &errOut
	if err = cmd.Run(); err != nil {
		exit := &exec.ExitError{}
		require.ErrorAs(tb, err, &exit)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// writeFile writes a configuration, and returns its path.
func writeFile(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "relay.yaml")
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}
