package configs

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns the known name that a misspelt one most likely stands for; "" = none is close.
func nearest(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// suggestion asks for the nearest known name; it is empty if none is close.
func suggestion(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// didYouMean suggests the nearest known name, or lists them all if none is close.
func didYouMean(name string, known []string) string {
	if s := suggestion(name, known); s != "" {
		return s
	}
	return "; use " + oneOf(slices.Sorted(slices.Values(known)))
}

// oneOf lists alternatives: "drop, delay or merge".
func oneOf(values []string) string {
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
