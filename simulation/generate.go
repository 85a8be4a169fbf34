package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"slackrelay/events"
)

// Kinds returns the kinds of traces that [Generate] can make.
func Kinds() []string { return []string{"steady", "storm", "many", "diurnal", "day"} }

// Generate makes a trace of n events, always the same for the same kind, number and seed:
//
//	steady   20 categories, evenly over 6 hours
//	storm    20 categories over 2 hours, of which 5 send nine tenths of all events within 10 minutes
//	many     500 categories over an hour, the first far busier than the last
//	diurnal  20 categories over a day, busiest in the afternoon
//	day      alerts that fire and are resolved over a day: 20 services that flap, outages of 5 clusters with 200 dependent
//	         services each, groups of 20 alerts, problems that end by themselves, quiet categories, and a watchdog that is
//	         not heard for 45 minutes. n decides how often the services flap; it must be 6,000 or more
func Generate(kind string, n int, seed uint64) (Trace, error) {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a trace is not a secret, and must be repeatable
	if kind == "day" {
		return generateDay(random, n)
	}
	next := map[string]func(*rand.Rand) (time.Duration, int){"steady": steady, "storm": storm, "many": many(random), "diurnal": diurnal}[kind]
	if next == nil {
		return nil, fmt.Errorf("trace kind %q does not exist; use one of %s", kind, strings.Join(Kinds(), ", "))
	}
	names := make([]string, manyCategories)
	for i := range names {
		names[i] = fmt.Sprintf("service-%03d", i+1)
	}
	trace := make(Trace, n)
	for i := range trace {
		at, category := next(random)
		trace[i] = Event{At: at, Category: names[category], Severity: severity(random)}
	}
	trace.Sort()
	return trace, nil
}

const (
	fewCategories   = 20
	manyCategories  = 500
	stormCategories = 5
	stormShare      = 0.9
)

// severities are drawn with equal probability each.
var severities = [...]events.Severity{
	events.Critical, events.Error, events.Error, events.Warning, events.Warning, events.Warning, events.Warning, events.Info,
}

func severity(random *rand.Rand) events.Severity { return severities[random.IntN(len(severities))] }

func steady(random *rand.Rand) (time.Duration, int) {
	return time.Duration(random.Int64N(int64(6 * time.Hour))), random.IntN(fewCategories)
}

func storm(random *rand.Rand) (time.Duration, int) {
	if random.Float64() < stormShare {
		return 45*time.Minute + time.Duration(random.Int64N(int64(10*time.Minute))), random.IntN(stormCategories)
	}
	return time.Duration(random.Int64N(int64(2 * time.Hour))), random.IntN(fewCategories)
}

func many(random *rand.Rand) func(*rand.Rand) (time.Duration, int) {
	zipf := rand.NewZipf(random, 1.2, 1, manyCategories-1)
	return func(random *rand.Rand) (time.Duration, int) {
		return time.Duration(random.Int64N(int64(time.Hour))), int(zipf.Uint64()) //nolint:gosec // below 500
	}
}

func diurnal(random *rand.Rand) (time.Duration, int) {
	for {
		at := time.Duration(random.Int64N(int64(24 * time.Hour)))
		if busy := 0.55 - 0.45*math.Cos(2*math.Pi*(at.Hours()-3)/24); random.Float64() < busy {
			return at, random.IntN(fewCategories)
		}
	}
}
