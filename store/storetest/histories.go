package storetest

import (
	"testing"

	"pgregory.net/rapid"
)

var historyBehaviours = []behaviour{
	{"LimitsMatchTheOracle", testLimitsMatchTheOracle},
	{"TwoConfigurationsEachKeepTheirLimits", testTwoConfigurationsEachKeepTheirLimits},
	{"AlertGroupsEndResolved", testAlertGroupsEndResolved},
}

func testLimitsMatchTheOracle(t *testing.T, start Start) {
	for kind, w := range Worlds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			AgainstTheOracle(t, start(t), w)
		})
	}
}

func testAlertGroupsEndResolved(t *testing.T, start Start) { checkMany(t, start, alertGroups) }

// checkMany checks a property with as many histories as -rapid.checks says.
func checkMany(t *testing.T, start Start, check func(rt *rapid.T, b Fixture, n int)) {
	t.Helper()
	b, n := start(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // each history has limit groups of its own
		check(rt, b, n)
	})
}
