package storetest

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
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

// checkMany checks a property with as many histories as -rapid.checks asks for.
func checkMany(t *testing.T, start Start, check func(rt *rapid.T, b Fixture, n int)) {
	t.Helper()
	b, n := start(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // each history has limit groups of its own
		check(rt, b, n)
	})
}

// decisions is how many random decisions are compared for each strategy; make soak raises it.
func decisions(standard int) int {
	n, err := strconv.Atoi(os.Getenv("SOAK_DECISIONS")) //nolint:forbidigo // how long to test is no configuration of the product
	if err != nil {
		return cmp.Or(standard, 1_500)
	}
	return n
}

// AgainstTheOracle compares the decisions of random histories with those of an [Oracle].
func AgainstTheOracle(t *testing.T, b Fixture, w World) {
	t.Helper()
	var done Tally
	histories := 0
	for want := decisions(b.Decisions); done.decisions < want; {
		rapid.Check(t, func(rt *rapid.T) {
			histories++ // each has a limit group of its own
			done.add(NewHistory(rt, w, fmt.Sprint("group-", histories), b).Run(rt, b))
		})
	}
	require.Positive(t, done.refused)
	t.Logf("%d decisions, %d of them refusals, %d with an exact retry time", done.decisions, done.refused, done.retries)
}
