package storetest_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // wrong algorithms are meant to fail
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
