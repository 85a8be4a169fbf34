package storetest_test

import (
	"testing"

	"slackrelay/store/storetest"
)

func TestAgainstTheOracle(t *testing.T) {
	t.Parallel()
	for name, engine := range storetest.Engines {
		standard := 1_500
		if name == "memory" {
			standard = 5_000
		}
		for kind, w := range storetest.Worlds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				storetest.AgainstTheOracle(t, engine(t), w, storetest.Decisions(t, standard))
			})
		}
	}
}
