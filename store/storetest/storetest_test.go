package storetest_test

import (
	"testing"

	"slackrelay/store/storetest"
	"slackrelay/test/golden"
)

func TestTheTwinsAgree(t *testing.T) {
	t.Parallel()
	storetest.Compare(t, storetest.Memory, storetest.Redis)
}

// The suite of every store compares with the golden table; here it is written.
func TestGoldenTableIsThatOfTheStoreInMemory(t *testing.T) {
	t.Parallel()
	golden.File(t, "testdata/strategies.golden", []byte(storetest.GoldenTable(t, storetest.Memory(t))))
}
