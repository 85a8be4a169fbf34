package storetest_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/store/storetest"
)

var update = flag.Bool("update", false, "write the golden table of the strategies")

func TestTheTwinsAgree(t *testing.T) {
	t.Parallel()
	storetest.Compare(t, storetest.Memory, storetest.Redis)
}

// The suite of every store compares with the golden table; here it is written.
func TestGoldenTableIsThatOfTheStoreInMemory(t *testing.T) {
	t.Parallel()
	const golden = "testdata/strategies.golden"
	got := storetest.GoldenTable(t, storetest.Memory(t))
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
