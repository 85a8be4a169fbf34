// Package storetest is the behaviour of a store: one suite that every implementation of [store.Store] passes.
//
// Whoever writes a store provides a [Fixture], and runs the suite with one call:
//
//	func TestStore(t *testing.T) { storetest.Run(t, start) }
//
// [Compare] plays the same random histories on two stores, and compares all that can be read of them after each step.
package storetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// behaviour is one thing that holds of every store.
type behaviour struct {
	name string
	test func(t *testing.T, start Start)
}

// subjects are all behaviours, in the order in which a request passes them.
var subjects = []struct {
	name       string
	behaviours []behaviour
}{
	{"admission", admissionBehaviours},
	{"requests", requestsBehaviours},
	{"bounds of requests", requestBoundsBehaviours},
	{"windows", windowsBehaviours},
	{"strategies", strategiesBehaviours},
	{"boundaries", boundariesBehaviours},
	{"clock steps", clockStepsBehaviours},
	{"changed limits", changedLimitsBehaviours},
	{"bounds of clock steps", stepBoundsBehaviours},
	{"bounds of windows", windowBoundsBehaviours},
	{"fairness", fairnessBehaviours},
	{"bounds of fairness", fairnessBoundsBehaviours},
	{"duplicates", duplicatesBehaviours},
	{"refunds", refundsBehaviours},
	{"bounds of refunds", refundBoundsBehaviours},
	{"closed levels", closedLevelsBehaviours},
	{"counts", countsBehaviours},
	{"merged counts", mergedCountsBehaviours},
	{"heartbeats", heartbeatsBehaviours},
	{"instances", instancesBehaviours},
	{"statuses", statusBehaviours},
	{"forced", forcedBehaviours},
	{"messages", messagesBehaviours},
	{"delayed", delayedBehaviours},
	{"bundles", bundlesBehaviours},
	{"bundle lists", bundleListsBehaviours},
	{"bounds of alerts", alertBoundsBehaviours},
	{"outbox", outboxBehaviours},
	{"leases", leasesBehaviours},
	{"ack and claim", ackClaimBehaviours},
	{"due index", dueBehaviours},
	{"problems", problemsBehaviours},
	{"bounds of problems", problemBoundsBehaviours},
	{"retries", retriesBehaviours},
	{"unknown attempts", unknownBehaviours},
	{"unanswered claims", unansweredBehaviours},
	{"lost writes", lostWritesBehaviours},
	{"expiry", expiryBehaviours},
	{"dead letters", deadLettersBehaviours},
	{"extras", extrasBehaviours},
	{"threads", threadsBehaviours},
	{"marks", marksBehaviours},
	{"instants", instantsBehaviours},
	{"digest", digestBehaviours},
	{"digest bounds", digestBoundsBehaviours},
	{"budget", budgetBehaviours},
	{"bounds of the outbox", outboxBoundsBehaviours},
	{"restore", restoreBehaviours},
	{"many", manyBehaviours},
	{"random histories", historyBehaviours},
}

// Run tests a store: first a few fixed random histories, which most mistakes do not survive (with -failfast nothing
// follows a failure), then every behaviour as a subtest of its subject, last many random histories. SOAK_DECISIONS is
// how many decisions are compared with the oracle for each strategy; -rapid.checks how many histories there are of the
// other kinds.
func Run(t *testing.T, start Start) {
	t.Helper()
	t.Run("a few histories", func(t *testing.T) {
		for _, p := range properties() {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				fewTimes(t, func(rt *rapid.T, n int) { p.check(rt, b, n) })
			})
		}
	})
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			for _, b := range s.behaviours {
				t.Run(b.name, func(t *testing.T) {
					t.Parallel()
					b.test(t, start)
				})
			}
		})
	}
}

// property holds of every random history; n numbers the histories of a test.
type property struct {
	name  string
	check func(rt *rapid.T, b Fixture, n int)
}

// properties are the histories that Run begins with.
func properties() []property {
	var all []property
	for kind, w := range Worlds {
		all = append(all, property{"limits, " + kind, func(rt *rapid.T, b Fixture, n int) {
			NewHistory(rt, w, fmt.Sprint("group-", n), b).Run(rt, b)
		}})
	}
	for _, s := range TimedStrategies() {
		all = append(all, property{"two configurations, " + s.Name, twoConfigurations(s.Strategy)})
	}
	return append(all, property{"alert groups", alertGroups})
}

// few is how many histories are quick enough to begin with.
const few = 5

// fewTimes checks a property with few histories, the same at each run. Nothing is made smaller of one that fails: that
// takes long, and the test of the many histories does it.
func fewTimes(t *testing.T, check func(rt *rapid.T, n int)) {
	t.Helper()
	for n := range few {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rapid.MakeFuzz(func(rt *rapid.T) { check(rt, n) })(t, noise(uint64(n)))
		})
	}
}

// noise is what a history is drawn from.
func noise(seed uint64) []byte {
	source := rand.New(rand.NewPCG(seed, seed))
	var all []byte
	for range 1 << 14 {
		all = binary.LittleEndian.AppendUint64(all, source.Uint64())
	}
	return all
}
