// Package test holds the tests of the whole program, which it builds and starts as a process of its own on free ports, and the
// benchmarks. program_test.go and harness_test.go start what the other files need.
package test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "slackrelay/app" // see build
)

// program is the path of the relay under test. The first test that needs it builds it.
var program = sync.OnceValue(build)

// programDir holds the built program, once there is one.
var programDir string

// build builds the program as the tests are built. It reads the folder of the main package, so that go test does not return a
// cached result when a command changed: it knows the files that tests open and the packages that they import, not those of a
// process that they start. The import of app above does the same for all other packages.
func build() string {
	if _, err := os.ReadDir(mainPackage); err != nil {
		panic(err)
	}
	var err error
	if programDir, err = os.MkdirTemp("", "relay-test-"); err != nil {
		panic(err)
	}
	path := filepath.Join(programDir, "relay")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, mainPackage)...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go %s: %v\n%s", strings.Join(args, " "), err, out))
	}
	return path
}

const mainPackage = "../cmd/relay"

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // tests wait for processes more than they compute
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if programDir != "" {
			os.RemoveAll(programDir)
		}
		os.Exit(code) //nolint:forbidigo // as goleak does it
	}))
}

// runRelay runs another command to its end.
func runRelay(tb testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	cmd := exec.Command(program(), args...)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errOut
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok { //nolint:errorlint // Run answers it unwrapped
		require.NoError(tb, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}
